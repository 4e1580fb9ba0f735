// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "algorithms/core.hpp"

namespace stretto {

/// Combines p contributions by the fixed tree, in rank order: neighbours merge until a power of two is left
/// (Core), then a perfect binary tree combines the rest. Results depend on p alone, as STRETTO_REPRODUCIBLE
/// requires. Recursive doubling, recursive halving and the binomial tree compute this tree anyway, so it
/// costs least.
///
/// `values` holds the contribution of each rank, in rank order; combine(left, right) returns the value of
/// both. combine is called when both operands exist, so it may also append actions to a schedule.
template <typename Value, typename Combine>
Value fixed_tree(std::vector<Value> values, const Combine& combine) {
  const Core core(static_cast<int>(values.size()));
  std::vector<Value> level;
  for (int number = 0; number < core.size(); ++number) {
    const auto rank = static_cast<std::size_t>(core.rank_of(number));
    level.push_back(core.is_paired(static_cast<int>(rank))
                        ? combine(std::move(values[rank - 1]), std::move(values[rank]))
                        : std::move(values[rank]));
  }
  while (level.size() > 1) {
    for (std::size_t i = 0; i < level.size() / 2; ++i) {
      level[i] = combine(std::move(level[2 * i]), std::move(level[2 * i + 1]));
    }
    level.resize(level.size() / 2);
  }
  return std::move(level.front());
}

/// Does the same for scans: combines all values as recursive doubling does (Hillis and Steele 1986). The
/// result of a rank depends only on the contributions of the ranks up to it.
template <typename Value, typename Combine>
Value fixed_prefix(std::vector<Value> values, const Combine& combine) {
  for (std::size_t distance = 1; distance < values.size(); distance *= 2) {
    for (std::size_t i = values.size() - 1; i >= distance; --i) {
      values[i] = combine(values[i - distance], values[i]);
    }
  }
  return values.back();
}

}  // namespace stretto
