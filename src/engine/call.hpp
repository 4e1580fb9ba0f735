// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "engine/element.hpp"
#include "schedule/partition.hpp"

namespace stretto {

/// One call, as the engine gets it. Elements are numbered over the whole message; a buffer may hold only some
/// of them (the output of reduce_scatter, the input of allgather).
struct Call {
  const void* input = nullptr;
  void* output = nullptr;
  Element element;
  std::size_t count = 0;  // elements of the message
  Range input_holds;      // what lies in the buffers, from their beginnings; none if there is no such buffer
  Range output_holds;
  /// Both are one buffer. Equal addresses alone do not say so: each may be MPI_BOTTOM.
  bool in_place = false;
  /// Where the caller's blocks begin, one a rank, and the end; empty: schedules cut the message as they want.
  std::span<const std::size_t> borders = {};
  int root = 0;

  /// A call of a collective in which both buffers hold the whole message.
  static Call whole(const void* input, void* output, std::size_t count, const Element& element) {
    return {.input = input,
            .output = output,
            .element = element,
            .count = count,
            .input_holds = {0, count},
            .output_holds = {0, count}};
  }
};

/// Which elements of the message the blocks of one segment hold. Where blocks are the caller's, a segment is
/// a part of every block, so only single blocks are contiguous unless there is one segment.
class BlockCut {
 public:
  BlockCut() = default;

  /// A segment that is cut into equal blocks.
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
