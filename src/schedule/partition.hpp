// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

namespace stretto {

/// A run of consecutive elements.
struct Range {
  std::size_t first = 0;
  std::size_t count = 0;

  friend bool operator==(const Range&, const Range&) = default;
};

/// Divides `elements` into `parts` runs whose lengths differ by at most one, the longer ones first.
///
/// A schedule works on blocks; a partition says which elements a block holds in a certain call, and likewise
/// which elements a segment holds. Every rank computes the same partition. So both ends of a message know
/// whether it is empty; an empty one is not sent.
class Partition {
 public:
  constexpr Partition(std::size_t elements, std::size_t parts)
      : base_(elements / parts), longer_(elements % parts) {}

  /// The first element of part `index`; `index == parts` gives the end.
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

/// The elements of each block of one segment. If the caller sets the lengths of blocks, a segment is a part
/// of every block, and only single blocks are contiguous unless there is one segment.
class BlockCut {
 public:
  BlockCut() = default;

  /// A segment that is divided into equal blocks.
  BlockCut(Range segment, std::size_t blocks) : first_(segment.first), equal_(segment.count, blocks) {}

  /// The `segment`-th part of `segments` of each of the caller's blocks.
  BlockCut(std::span<const std::size_t> borders, std::size_t segment, std::size_t segments)
      : borders_(borders), segment_(segment), segments_(segments) {}

  [[nodiscard]] Range run(std::size_t block, std::size_t count = 1) const {
    if (borders_.empty()) {
      const Range run = equal_.run(block, count);
      return {first_ + run.first, run.count};
    }
    if (segments_ == 1) return {borders_[block], borders_[block + count] - borders_[block]};
    const Range part = Partition(borders_[block + 1] - borders_[block], segments_).run(segment_);
    return {borders_[block] + part.first, part.count};
  }

 private:
  std::size_t first_ = 0;
  Partition equal_{0, 1};
  std::span<const std::size_t> borders_;
  std::size_t segment_ = 0;
  std::size_t segments_ = 1;
};

}  // namespace stretto
