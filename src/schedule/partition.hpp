// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace stretto {

/// A run of consecutive elements.
struct Range {
  std::size_t first = 0;
  std::size_t count = 0;

  friend bool operator==(const Range&, const Range&) = default;
};

/// `elements` cut into `parts` runs whose lengths differ by one at most, the longer ones first.
///
/// A schedule speaks of blocks; a partition says, when a call is made, which elements a block holds, and
/// likewise which elements a segment holds. Every rank computes the same cut, so an empty part needs no
/// message: both ends know that it is empty.
class Partition {
 public:
  constexpr Partition(std::size_t elements, std::size_t parts)
      : base_(elements / parts), longer_(elements % parts) {}

  /// First element of part `index`; `index == parts` gives the end.
  [[nodiscard]] constexpr std::size_t begin(std::size_t index) const {
    return index * base_ + (index < longer_ ? index : longer_);
  }

  /// The elements of parts [first, first + count).
  [[nodiscard]] constexpr Range run(std::size_t first, std::size_t count = 1) const {
    const std::size_t start = begin(first);
    return {start, begin(first + count) - start};
  }

  /// No part is longer than this.
  [[nodiscard]] constexpr std::size_t longest() const { return base_ + (longer_ != 0 ? 1 : 0); }

 private:
  std::size_t base_;
  std::size_t longer_;
};

}  // namespace stretto
