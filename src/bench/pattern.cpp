// SPDX-License-Identifier: Apache-2.0
#include "pattern.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace stretto::bench {
namespace {

constexpr std::size_t period = 251;
constexpr std::size_t rank_step = 31;
constexpr std::size_t generation_step = 17;
// A table holds one period more than is copied or compared at once, so that every phase finds a full run in
// it.
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
    // A run is a whole number of periods: the phase stays.
    visit(first * size, phase * size, std::min(run, count - first) * size);
  }
}

bool equals(const std::byte* data, std::size_t count, const std::vector<std::byte>& table, std::size_t phase,
            std::size_t size) {
  bool equal = true;
  for_each_run(count, phase, size, [&](std::size_t at, std::size_t from, std::size_t bytes) {
    equal = equal && std::memcmp(data + at, table.data() + from, bytes) == 0;
  });
  return equal;
}

}  // namespace

Element find_element(const std::string& name) {
  if (name == "float") return {name, MPI_FLOAT, sizeof(float)};
  if (name == "double") return {name, MPI_DOUBLE, sizeof(double)};
  if (name == "int32") return {name, MPI_INT32_T, sizeof(std::int32_t)};
  throw std::invalid_argument("--type " + name + ": expected float, double or int32");
}

Pattern::Pattern(const Element& element, int rank, int ranks)
    : size_(element.size), rank_(static_cast<std::size_t>(rank)) {
  // Sums of a float stay exact below 2^24.
  if (static_cast<std::size_t>(ranks) * period >= (std::size_t{1} << 24U)) {
    throw std::invalid_argument("too many ranks for results that float holds exactly");
  }
  std::vector<std::uint64_t> inputs(period);
  std::vector<std::uint64_t> sums(period);
  for (std::size_t i = 0; i < period; ++i) {
    inputs[i] = i;
    for (std::size_t r = 0; r < static_cast<std::size_t>(ranks); ++r) sums[i] += (i + rank_step * r) % period;
  }
  inputs_ = tabulate(element, inputs);
  sums_ = tabulate(element, sums);
}

std::size_t Pattern::input_phase(std::size_t first, std::uint64_t generation) const {
  return (sum_phase(first, generation) + rank_step * rank_) % period;
}

std::size_t Pattern::sum_phase(std::size_t first, std::uint64_t generation) const {
  return (first % period + generation_step * (generation % period)) % period;
}

void Pattern::fill(std::byte* into, std::size_t count, std::uint64_t generation) const {
  for_each_run(count, input_phase(0, generation), size_,
               [&](std::size_t at, std::size_t from, std::size_t bytes) {
                 std::memcpy(into + at, inputs_.data() + from, bytes);
               });
}

bool Pattern::holds_input(const std::byte* data, std::size_t count, std::uint64_t generation) const {
  return equals(data, count, inputs_, input_phase(0, generation), size_);
}

bool Pattern::holds_sum(const std::byte* data, std::size_t count, std::uint64_t generation) const {
  return range_holds_sum(data, 0, count, generation);
}

bool Pattern::range_holds_sum(const std::byte* data, std::size_t first, std::size_t last,
                              std::uint64_t generation) const {
  return equals(data + first * size_, last - first, sums_, sum_phase(first, generation), size_);
}

bool Pattern::holds_sum_sampled(const std::byte* data, std::size_t count, std::uint64_t generation) const {
  constexpr std::size_t windows = 16;
  constexpr std::size_t width = 64;
  if (count <= windows * width) return holds_sum(data, count, generation);
  const std::size_t stride = (count - width) / (windows - 1);
  // The windows at the ends stay where they are; those between move with the generation.
  const std::size_t shift = generation * 7919 % stride;
  bool holds =
      range_holds_sum(data, 0, width, generation) && range_holds_sum(data, count - width, count, generation);
  for (std::size_t window = 0; window + 1 < windows; ++window) {
    const std::size_t first = std::min(window * stride + shift, count - width);
    holds = holds && range_holds_sum(data, first, first + width, generation);
  }
  return holds;
}

}  // namespace stretto::bench
