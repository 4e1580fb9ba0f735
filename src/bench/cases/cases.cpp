// SPDX-License-Identifier: Apache-2.0
#include "bench/cases/cases.hpp"

#include <algorithm>
#include <climits>
#include <numeric>
#include <stdexcept>
#include <string>

namespace stretto::bench {
namespace {

std::size_t unit_of(const Mockup::Part& call, int ranks) {
  return call.divisor * (has_equal_blocks(call.collective) ? static_cast<std::size_t>(ranks) : 1);
}

}  // namespace

std::vector<Case> list_cases(const Options& options, const Element& element, int ranks) {
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
  return in_place && (collective != Collective::reduce || is_root());
}

std::size_t Role::block_begin(int of_rank) const noexcept {
  const auto before = static_cast<std::size_t>(of_rank);
  const auto all = static_cast<std::size_t>(ranks);
  return before * (count / all) + std::min(before, count % all);
}

std::size_t Role::block_count(int of_rank) const noexcept {
  return block_begin(of_rank + 1) - block_begin(of_rank);
}

std::size_t Role::input_count() const noexcept {
  if (calls_in_place()) return 0;
  switch (collective) {
    case Collective::bcast:
      return 0;
    case Collective::allgather:
    case Collective::gather:
      return block_count(rank);
    case Collective::scatter:
    case Collective::scatterv:
      return is_root() ? count : 0;
    default:
      return count;
  }
}

std::size_t Role::output_count() const noexcept {
  switch (collective) {
    case Collective::reduce:
    case Collective::gather:
      return is_root() ? count : 0;
    case Collective::scatter:
    case Collective::scatterv:
      return block_count(rank);
    case Collective::reduce_scatter:
    case Collective::reduce_scatter_block:
      return in_place ? count : block_count(rank);
    case Collective::allreduce:
    case Collective::bcast:
    case Collective::allgather:
    case Collective::alltoall:
      break;
  }
  return count;
}

bool Role::ranks_run_ahead() const noexcept {
  // A rank that receives nothing need not wait for any other.
  return has_root(collective) ||
         (collective == Collective::reduce_scatter && count < static_cast<std::size_t>(ranks));
}

}  // namespace stretto::bench
