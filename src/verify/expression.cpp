// SPDX-License-Identifier: Apache-2.0
#include "verify/expression.hpp"

#include <algorithm>

namespace stretto {

Expressions::Id Expressions::contribution(int rank, int block) {
  nodes_.push_back({.block = block, .lowest_rank = rank, .highest_rank = rank});
  return static_cast<Id>(nodes_.size()) - 1;
}

Expressions::Id Expressions::combine(Id left, Id right) {
  const auto key = (static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32) |
                   static_cast<std::uint32_t>(right);
  const auto [entry, is_new] = combined_.try_emplace(key, static_cast<Id>(nodes_.size()));
  if (is_new) {
    const Node& a = (*this)[left];
    const Node& b = (*this)[right];
    // If a contribution is taken twice in every step, the count doubles without end. A bound prevents an
    // overflow.
    constexpr std::int64_t plenty = std::int64_t{1} << 40;
    nodes_.push_back(
        {.left = left,
         .right = right,
         .block = a.block,
         .lowest_rank = std::min(a.lowest_rank, b.lowest_rank),
         .highest_rank = std::max(a.highest_rank, b.highest_rank),
         .contributions = std::min(a.contributions + b.contributions, plenty),
         .in_rank_order = a.in_rank_order && b.in_rank_order && a.highest_rank + 1 == b.lowest_rank});
  }
  return entry->second;
}

std::vector<int> Expressions::ranks_in(Id id) const {
  std::vector<int> ranks;
  std::vector<Id> open{id};
  while (!open.empty()) {
    const Node& node = (*this)[open.back()];
    open.pop_back();
    if (node.left == undefined) {
      ranks.push_back(node.lowest_rank);
    } else {
      open.push_back(node.right);
      open.push_back(node.left);
    }
  }
  return ranks;
}

}  // namespace stretto
