// SPDX-License-Identifier: Apache-2.0
#include "bench/cases/cases.hpp"

#include <algorithm>
#include <climits>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>

namespace stretto::bench {
namespace {

std::size_t unit_of(const Mockup::Part& call, int ranks) {
  return call.divisor * (has_equal_blocks(call.collective) ? static_cast<std::size_t>(ranks) : 1);
}

}  // namespace

std::vector<Case> list_cases(const Options& options, const Element& element, int ranks) {
  if (options.collective == Collective::barrier) return {{0, 0, false}};
  std::size_t unit = unit_of({options.collective}, ranks);
  for (const Mockup& mockup : options.mockups) {
    for (const Mockup::Part& part : mockup.parts) unit = std::lcm(unit, unit_of(part, ranks));
  }
  std::vector<Case> cases;
  for (const std::size_t size : options.sizes) {
    const std::size_t count = std::max<std::size_t>(1, size / element.size / unit) * unit;
    if (count > INT_MAX) {
      throw std::invalid_argument("--sizes " + std::to_string(size) + ": expected at most " +
                                  std::to_string(INT_MAX) + " elements");
    }
    if (options.collective == Collective::alltoallw && count * element.size > INT_MAX) {
      throw std::invalid_argument("--sizes " + std::to_string(size) + ": MPI_Alltoallw counts at most " +
                                  std::to_string(INT_MAX) + " bytes");
    }
    for (const bool in_place : options.in_place) {
      const bool known = std::any_of(cases.begin(), cases.end(), [&](const Case& other) {
        return other.count == count && other.in_place == in_place;
      });
      if (!known) cases.push_back({count, count * element.size, in_place});
    }
  }
  return cases;
}

bool Role::calls_in_place() const noexcept {
  return in_place && (!has_root(collective) || is_root());
}

std::size_t Role::skewed_count() const noexcept {
  return static_cast<std::size_t>(std::llround(skew.value_or(0) * static_cast<double>(count)));
}

std::size_t Role::block_begin(int of_rank) const noexcept {
  const auto before = static_cast<std::size_t>(of_rank);
  const auto all = static_cast<std::size_t>(ranks);
  if (is_skewed() && before > 0) {
    const std::size_t first = skewed_count();
    const std::size_t rest = count - first;
    return first + (before - 1) * (rest / (all - 1)) + std::min(before - 1, rest % (all - 1));
  }
  return before * (count / all) + std::min(before, count % all);
}

std::size_t Role::block_count(int of_rank) const noexcept {
  return block_begin(of_rank + 1) - block_begin(of_rank);
}

Role::Parts Role::parts() const noexcept {
  const auto all = static_cast<std::size_t>(ranks);
  if (!is_skewed()) {
    const std::size_t even = count / all;
    return {even, even + count % all, even, even};
  }
  // In place, a rank sends each other rank the same length as it receives from that rank.
  const bool halves = in_place && ranks > 2;
  const std::size_t most = halves ? skewed_count() / 2 : skewed_count();
  const std::size_t rest = count - (halves ? 2 : 1) * most;
  const std::size_t others = all - (halves ? 2 : 1);
  const std::size_t usual = rest / others;
  return {usual, usual + rest % others, most, halves || ranks == 2 ? most : usual};
}

std::size_t Role::part_count(int from, int to) const noexcept {
  const Parts lengths = parts();
  const int distance = (to - from + ranks) % ranks;
  if (distance == 0) return lengths.own;
  if (distance == 1) return lengths.next;
  return distance == ranks - 1 ? lengths.previous : lengths.usual;
}

std::size_t Role::part_begin(int of_rank, int other, const Parts& lengths) const noexcept {
  std::size_t begin = 0;
  auto usual = static_cast<std::size_t>(other);
  const auto add_if_before = [&](int that, std::size_t length) {
    if (that >= other) return;
    --usual;
    begin += length;
  };
  const int next = (of_rank + 1) % ranks;
  const int previous = (of_rank + ranks - 1) % ranks;
  add_if_before(of_rank, lengths.own);
  if (next != of_rank) add_if_before(next, lengths.next);
  if (previous != next) add_if_before(previous, lengths.previous);
  return begin + usual * lengths.usual;
}

std::size_t Role::part_begin_in_input(int from, int to) const noexcept {
  return part_begin(from, to, parts());
}

std::size_t Role::part_begin_in_output(int from, int to) const noexcept {
  Parts lengths = parts();
  std::swap(lengths.next, lengths.previous);  // as they arrive
  return part_begin(to, from, lengths);
}

std::size_t Role::count_of(Held held) const noexcept {
  if (held == Held::own) return block_count(rank);
  return held == Held::all ? count : 0;
}

std::size_t Role::input_count() const noexcept {
  if (collective == Collective::barrier) return 0;
  // In place, the root of a scatter passes its input and keeps its block there.
  if (calls_in_place() && !is_scatter(collective)) return 0;
  return count_of(held_blocks(collective_of(collective), rank, root).input);
}

std::size_t Role::output_count() const noexcept {
  if (calls_in_place()) return is_scatter(collective) ? 0 : count;
  // MPI does not define the result on rank 0.
  if (collective == Collective::exscan) return count;
  return count_of(held_blocks(collective_of(collective), rank, root).output);
}

bool Role::ranks_run_ahead() const noexcept {
  // A rank that receives nothing need not wait for any other. That is rank 0 of a scan, and a rank whose
  // blocks are empty.
  if (has_root(collective) || is_scan(collective)) return true;
  if (!has_lengths(collective) || ranks == 1) return false;
  if (is_alltoall(collective)) {
    const Parts lengths = parts();
    return lengths.next == 0 || lengths.previous == 0 || (ranks > 3 && lengths.usual == 0);
  }
  return block_count(0) == 0 || block_count(ranks - 1) == 0;
}

}  // namespace stretto::bench
