// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace stretto {

/// Expressions over the contributions of all ranks, each stored once. Two expressions are the same,
/// including the order of operands, exactly if their numbers are equal. So a comparison of integers tells
/// whether all ranks get the same bits.
class Expressions {
 public:
  using Id = std::int32_t;
  static constexpr Id undefined = -1;

  struct Node {
    Id left = undefined;  // undefined for a contribution
    Id right = undefined;
    int block = 0;
    int lowest_rank = 0;
    int highest_rank = 0;
    std::int64_t contributions = 1;
    /// Whether the contributions, from left to right, are those of ranks lowest … highest.
    bool in_rank_order = true;
  };

  /// The contribution of `rank` to `block`.
  Id contribution(int rank, int block);
  /// left op right. Both must belong to the same block.
  Id combine(Id left, Id right);

  [[nodiscard]] const Node& operator[](Id id) const { return nodes_[static_cast<std::size_t>(id)]; }

  /// The ranks whose contributions an expression holds, from left to right.
  [[nodiscard]] std::vector<int> ranks_in(Id id) const;

 private:
  std::vector<Node> nodes_;
  std::unordered_map<std::uint64_t, Id> combined_;
};

}  // namespace stretto
