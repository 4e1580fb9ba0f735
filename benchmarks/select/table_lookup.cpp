// SPDX-License-Identifier: Apache-2.0
// Measures what a choice by a tuning table costs a call (target: under 50 ns). A choice finds the row for the
// message's size, which changes each time, in lists of different lengths, and copies its spec. For
// comparison: the built-in rule's choice. Done once only: finding the shape for a communicator, and reading a
// table.

#include <benchmark/benchmark.h>

#include <random>
#include <string>
#include <vector>

#include "select/rule.hpp"
#include "select/table.hpp"

namespace stretto {
namespace {

/// Returns a table with shapes of 1, 2, 4, … nodes. Each has a list of `rows` rows for every form of
/// allreduce; `native` and `spec` alternate.
std::string text_of_table(int shapes, int rows, const std::string& spec = "ring:segment_bytes=256KiB") {
  std::string text = R"({"format": "stretto-table", "version": 1, "mpi": "MPICH 4.0.2", "shapes": [)";
  for (int i = 0; i < shapes; ++i) {
    text += (i == 0 ? "" : ",") + std::string("{\"nodes\": ") + std::to_string(1 << i) + ", \"ppn\": 2";
    for (const Form form : forms) {
      text += ", \"" + name_of(Collective::allreduce, form) + "\": [";
      for (int row = 0; row < rows; ++row) {
        text += (row == 0 ? "" : ",") + std::string("{\"from\": ") +
                std::to_string(row == 0 ? 0 : 64ULL << row) + ", \"spec\": \"" +
                (row % 2 == 0 ? "native" : spec) + "\"}";
      }
      text += "]";
    }
    text += "}";
  }
  return text + "]}";
}

/// Returns sizes over all rows, in an order that a branch predictor cannot learn.
std::vector<std::size_t> sizes(int rows) {
  std::mt19937_64 random(3);
  std::vector<std::size_t> all(4096);
  for (std::size_t& bytes : all) bytes = random() % (256ULL << (random() % static_cast<unsigned>(rows)));
  return all;
}

void choose_by(benchmark::State& state, const std::string& text, int rows) {
  const Table table = parse_table(text);
  const Table::Shape* shape = table.find_shape(8, 2, 2);
  const std::vector<std::size_t> all = sizes(rows);
  std::size_t i = 0;
  for (auto _ : state) {
    const Table::Row* row = shape->find(Collective::allreduce, Form::blocking, all[i++ % all.size()]);
    Spec spec = row->spec;
    benchmark::DoNotOptimize(spec);
  }
}

void choose_by_table(benchmark::State& state) {
  const int rows = static_cast<int>(state.range(0));
  choose_by(state, text_of_table(6, rows), rows);
}
BENCHMARK(choose_by_table)->Arg(1)->Arg(4)->Arg(8)->Arg(16);

/// Specs made of other algorithms allocate memory.
void choose_two_levels_by_table(benchmark::State& state) {
  choose_by(state, text_of_table(6, 8, "multilane(ring)"), 8);
}
BENCHMARK(choose_two_levels_by_table);

void choose_by_rule(benchmark::State& state) {
  const std::vector<std::size_t> all = sizes(16);
  std::size_t i = 0;
  for (auto _ : state) {
    Spec spec = choose({.collective = Collective::allreduce,
                        .bytes = all[i++ % all.size()],
                        .ranks = 16,
                        .nodes = 8,
                        .min_ppn = 2,
                        .max_ppn = 2});
    benchmark::DoNotOptimize(spec);
  }
}
BENCHMARK(choose_by_rule);

void find_shape(benchmark::State& state) {
  const Table table = parse_table(text_of_table(static_cast<int>(state.range(0)), 4));
  for (auto _ : state) benchmark::DoNotOptimize(table.find_shape(8, 2, 2));
}
BENCHMARK(find_shape)->Arg(6)->Arg(12);

void read_table(benchmark::State& state) {
  const std::string text = text_of_table(static_cast<int>(state.range(0)), 8);
  for (auto _ : state) benchmark::DoNotOptimize(parse_table(text));
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
}
BENCHMARK(read_table)->Arg(1)->Arg(12);

}  // namespace
}  // namespace stretto

BENCHMARK_MAIN();
