// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>

namespace stretto {

/// The recursive algorithms need a certain number of ranks, mostly a power of two: the core. Of p ranks, the
/// first 2(p - core) form pairs of neighbours: the even rank sends its contribution to the odd one and waits
/// for the result, and the odd rank stands for both. The core is numbered so that rank order is kept:
/// neighbours merge, and no rank moves past another.
class Core {
 public:
  /// The core is the largest power of two.
  explicit Core(int ranks) : Core(ranks, static_cast<int>(std::bit_floor(static_cast<unsigned>(ranks)))) {}
  /// A core of `size` ranks, more than half of all.
  Core(int ranks, int size) : size_(size), extra_(ranks - size) {}

  [[nodiscard]] int size() const { return size_; }
  [[nodiscard]] bool is_paired(int rank) const { return rank < 2 * extra_; }
  [[nodiscard]] bool hands_over(int rank) const { return is_paired(rank) && rank % 2 == 0; }
  /// The number in the core of a rank that does not hand over its contribution.
  [[nodiscard]] int core_of(int rank) const { return is_paired(rank) ? rank / 2 : rank - extra_; }
  [[nodiscard]] int rank_of(int core) const { return core < extra_ ? 2 * core + 1 : core + extra_; }
  /// The lowest rank for which a number stands: the two of a pair have neighbouring blocks.
  [[nodiscard]] int lowest_of(int core) const { return core < extra_ ? 2 * core : core + extra_; }

 private:
  int size_;
  int extra_;
};

}  // namespace stretto
