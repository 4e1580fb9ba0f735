// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>

namespace stretto {

/// The recursive algorithms need a number of ranks of a certain form, mostly a power of two. Of p ranks, the
/// first 2(p - core) pair up as neighbours: the even one hands its contribution to the odd one and waits for
/// the result, the odd one stands for both. The `core` that is left is numbered so that rank order is kept:
/// neighbours are merged, nobody is moved past another.
class Core {
 public:
  /// The largest power of two.
  explicit Core(int ranks) : Core(ranks, static_cast<int>(std::bit_floor(static_cast<unsigned>(ranks)))) {}
  /// `size` is more than half of the ranks.
  Core(int ranks, int size) : size_(size), extra_(ranks - size) {}

  [[nodiscard]] int size() const { return size_; }
  [[nodiscard]] bool is_paired(int rank) const { return rank < 2 * extra_; }
  [[nodiscard]] bool hands_over(int rank) const { return is_paired(rank) && rank % 2 == 0; }
  /// Number in the core of a rank that does not hand over.
  [[nodiscard]] int core_of(int rank) const { return is_paired(rank) ? rank / 2 : rank - extra_; }
  [[nodiscard]] int rank_of(int core) const { return core < extra_ ? 2 * core + 1 : core + extra_; }

 private:
  int size_;
  int extra_;
};

}  // namespace stretto
