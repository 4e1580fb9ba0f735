// SPDX-License-Identifier: Apache-2.0
#include "verify/expression.hpp"

#include <algorithm>

namespace stretto {

Expressions::Id Expressions::contribution(int rank, int block) {
  nodes_.push_back({.block = block, .lowest_rank = rank, .highest_rank = rank});
  return static_cast<Id>(nodes_.size()) - 1;
}

Expressions::Value Expressions::turned(Value value, int turns) const {
  const int all = symmetry_.turns();
  return {value.id, ((value.turns + turns) % all + all) % all};
}

Expressions::Value Expressions::combine(Value left, Value right) {
  return {combination(left.id, right.id, turned(right, -left.turns).turns), left.turns};
}

Expressions::Id Expressions::combination(Id left, Id right, std::int32_t right_turns) {
  const auto next = static_cast<Id>(nodes_.size());
  if (!symmetry_.changes_sides) {
    const auto [entry, is_new] = combined_.try_emplace({left, right, right_turns}, next);
    if (!is_new) return entry->second;
  }
  const Node& a = node(left);
  const Node& b = node(right);
  // If a contribution is taken twice in every step, the count doubles without end. A bound prevents an
  // overflow.
  constexpr std::int64_t plenty = std::int64_t{1} << 40;
  // Ranks that turned are in another order.
  const bool follows = symmetry_.is_none() && a.highest_rank + 1 == b.lowest_rank;
  nodes_.push_back({.left = left,
                    .right = right,
                    .right_turns = right_turns,
                    .block = a.block,
                    .lowest_rank = std::min(a.lowest_rank, b.lowest_rank),
                    .highest_rank = std::max(a.highest_rank, b.highest_rank),
                    .contributions = std::min(a.contributions + b.contributions, plenty),
                    .in_rank_order = a.in_rank_order && b.in_rank_order && follows});
  return next;
}

std::vector<int> Expressions::ranks_in(Value value) const {
  std::vector<int> ranks;
  std::vector<Value> open{value};
  while (!open.empty()) {
    const Value one = open.back();
    const Node& node = (*this)[one];
    open.pop_back();
    if (node.left == undefined) {
      ranks.push_back(symmetry_.turned_rank(node.lowest_rank, one.turns));
    } else {
      open.push_back(turned({node.right, node.right_turns}, one.turns));
      open.push_back({node.left, one.turns});
    }
  }
  return ranks;
}

std::size_t Expressions::Hash::operator()(const Operands& operands) const {
  std::uint64_t hash = 0;
  for (const std::int32_t value : {operands.left, operands.right, operands.right_turns}) {
    hash = (hash ^ static_cast<std::uint32_t>(value)) * 0x9E3779B97F4A7C15U;
    hash ^= hash >> 32;
  }
  return hash;
}

}  // namespace stretto
