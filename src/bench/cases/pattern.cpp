// SPDX-License-Identifier: Apache-2.0
#include "bench/cases/pattern.hpp"
#include "mpi/mpi.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace stretto::bench {
namespace {

constexpr std::size_t period = 251;
constexpr std::size_t rank_step = 31;
constexpr std::size_t generation_step = 17;
// A table holds one period more than is copied or compared at once, so that there is a full run from every
// phase on.
constexpr std::size_t run = period * 64;

template <typename Value>
std::vector<std::byte> tabulate(const std::vector<std::uint64_t>& values) {
  std::vector<std::byte> table((run + period) * sizeof(Value));
  for (std::size_t i = 0; i < run + period; ++i) {
    const auto value = static_cast<Value>(values[i % period]);
    std::memcpy(table.data() + i * sizeof(Value), &value, sizeof(Value));
  }
  return table;
}

std::vector<std::byte> tabulate(const Element& element, const std::vector<std::uint64_t>& values) {
  if (element.name == "float") return tabulate<float>(values);
  if (element.name == "double") return tabulate<double>(values);
  return tabulate<std::int32_t>(values);
}

/// Calls visit(byte offset in the data, byte offset in the table, bytes) for the runs that make up [0,
/// count).
template <typename Visit>
void for_each_run(std::size_t count, std::size_t phase, std::size_t size, Visit visit) {
  for (std::size_t first = 0; first < count; first += run) {
    // A run is a whole number of periods, so the phase stays the same.
    visit(first * size, phase * size, std::min(run, count - first) * size);
  }
}

}  // namespace

Element find_element(const std::string& name) {
  if (name == "float") return {name, mpi.float_, sizeof(float)};
  if (name == "double") return {name, mpi.double_, sizeof(double)};
  if (name == "int32") return {name, mpi.int32_t, sizeof(std::int32_t)};
  throw std::invalid_argument("--type " + name + ": expected float, double or int32");
}

Content Content::input(int rank, std::uint64_t generation) {
  return {0, (sum(1, generation).phase + rank_step * static_cast<std::size_t>(rank)) % period};
}

Content Content::sum(int ranks, std::uint64_t generation) {
  return {ranks, generation_step * (generation % period) % period};
}

Content Content::from(std::size_t element) const {
  return {summed, (phase + element % period) % period};
}

Content Content::unlike() const {
  return from(period / 2);
}

Pattern::Pattern(const Element& element, int ranks) : element_(element), size_(element.size) {
  // Sums of a float stay exact below 2^24.
  if (static_cast<std::size_t>(ranks) * period >= (std::size_t{1} << 24U)) {
    throw std::invalid_argument("too many ranks for results that float holds exactly");
  }
}

const std::vector<std::byte>& Pattern::table(const Content& content) const {
  std::vector<std::byte>& table = tables_[content.summed];
  if (!table.empty()) return table;
  std::vector<std::uint64_t> values(period);
  const auto ranks = static_cast<std::size_t>(std::max(content.summed, 1));
  for (std::size_t i = 0; i < period; ++i) {
    for (std::size_t r = 0; r < ranks; ++r) values[i] += (i + rank_step * r) % period;
  }
  return table = tabulate(element_, values);
}

void Pattern::fill(std::byte* buffer, std::size_t at, std::size_t count, const Content& content) const {
  std::byte* const data = buffer + at * size_;
  for_each_run(count, content.phase, size_, [&](std::size_t to, std::size_t from, std::size_t bytes) {
    std::memcpy(data + to, table(content).data() + from, bytes);
  });
}

bool Pattern::holds(const std::byte* buffer, std::size_t at, std::size_t count,
                    const Content& content) const {
  const std::byte* const data = buffer + at * size_;
  bool equal = true;
  for_each_run(count, content.phase, size_, [&](std::size_t to, std::size_t from, std::size_t bytes) {
    equal = equal && std::memcmp(data + to, table(content).data() + from, bytes) == 0;
  });
  return equal;
}

}  // namespace stretto::bench
