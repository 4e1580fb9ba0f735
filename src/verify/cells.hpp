// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "verify/verify.hpp"

namespace stretto {

/// Numbers the blocks of a rank's memory: the input's, then the output's (the same ones in place), then
/// scratch.
class Cells {
 public:
  Cells(const Schedule& schedule, Placement placement)
      : schedule_(&schedule), output_(placement == Placement::in_place ? 0 : schedule.blocks()) {}

  [[nodiscard]] int size() const { return begin_of(Buffer::scratch) + scratch_blocks(); }
  [[nodiscard]] int first(const Slice& slice) const { return begin_of(slice.buffer) + slice.first; }

  [[nodiscard]] bool exists(const Slice& slice) const {
    const int limit = slice.buffer == Buffer::scratch ? scratch_blocks() : schedule_->blocks();
    return slice.first >= 0 && slice.count >= 1 && slice.first + slice.count <= limit;
  }

  /// The block whose size the `index`-th block of a slice has.
  [[nodiscard]] int shape(const Slice& slice, int index) const {
    const int block = slice.first + index;
    return slice.buffer == Buffer::scratch ? schedule_->scratch_shape()[static_cast<std::size_t>(block)]
                                           : block;
  }

 private:
  [[nodiscard]] int scratch_blocks() const { return static_cast<int>(schedule_->scratch_shape().size()); }
  [[nodiscard]] int begin_of(Buffer buffer) const {
    switch (buffer) {
      case Buffer::input:
        return 0;
      case Buffer::output:
        return output_;
      case Buffer::scratch:
        return output_ + schedule_->blocks();
    }
    return 0;
  }

  const Schedule* schedule_;
  int output_;
};

}  // namespace stretto
