// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "verify/symmetry.hpp"

namespace stretto {

/// Expressions over the contributions of all ranks, each stored once. Two values are the same expression,
/// including the order of operands, exactly if they are equal. So a comparison of integers tells whether all
/// ranks get the same bits.
class Expressions {
 public:
  using Id = std::int32_t;
  static constexpr Id undefined = -1;

  /// An expression after some turns of its ranks and blocks (Symmetry).
  struct Value {
    Id id = undefined;
    std::int32_t turns = 0;

    [[nodiscard]] bool is_defined() const { return id != undefined; }
    friend bool operator==(const Value&, const Value&) = default;
  };

  struct Node {
    Id left = undefined;  // undefined for a contribution
    Id right = undefined;
    std::int32_t right_turns = 0;  // after which the right expression is the operand
    int block = 0;
    int lowest_rank = 0;
    int highest_rank = 0;
    std::int64_t contributions = 1;
    /// Whether the contributions, from left to right, are those of ranks lowest … highest.
    bool in_rank_order = true;
  };

  explicit Expressions(const Symmetry& symmetry) : symmetry_(symmetry) {}

  /// The contribution of `rank` to `block`.
  Id contribution(int rank, int block);
  /// left op right. Both must belong to the same block. Where sides change, the same operands are another
  /// expression each time.
  Value combine(Value left, Value right);
  /// The same expression as the turned ranks have it.
  [[nodiscard]] Value turned(Value value, int turns) const;

  [[nodiscard]] const Node& operator[](Value value) const { return node(value.id); }
  [[nodiscard]] int block_of(Value value) const {
    return symmetry_.turned_block(node(value.id).block, value.turns);
  }
  /// The ranks whose contributions an expression holds, from left to right.
  [[nodiscard]] std::vector<int> ranks_in(Value value) const;

 private:
  [[nodiscard]] const Node& node(Id id) const { return nodes_[static_cast<std::size_t>(id)]; }
  Id combination(Id left, Id right, std::int32_t right_turns);

  struct Operands {
    Id left;
    Id right;
    std::int32_t right_turns;

    friend bool operator==(const Operands&, const Operands&) = default;
  };
  struct Hash {
    std::size_t operator()(const Operands& operands) const;
  };

  Symmetry symmetry_;
  std::vector<Node> nodes_;
  std::unordered_map<Operands, Id, Hash> combined_;
};

}  // namespace stretto
