// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>
#include <vector>

#include "algorithms/core.hpp"

namespace stretto {

/// The fixed tree of p contributions, in rank order: neighbours are merged until a power of two is left
/// (Core), then they are combined as in a perfect binary tree. It is what recursive doubling, recursive
/// halving and the binomial tree compute anyway, so STRETTO_REPRODUCIBLE costs least with it: results depend
/// on p alone.
///
/// `values` holds what each rank brings, in rank order; combine(left, right) gives the value of both. The
/// steps come in an order in which operands are there: it can as well emit actions.
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

}  // namespace stretto
