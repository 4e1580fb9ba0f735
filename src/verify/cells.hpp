// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "verify/verify.hpp"

namespace stretto {

/// Numbers the blocks in a rank's memory: first the input's, then the output's (the same numbers if
/// MPI_IN_PLACE makes them the same memory), then scratch. Also says which blocks the collective has on this
/// rank (collective.hpp).
class Cells {
 public:
  Cells(const Schedule& schedule, const Problem& problem)
      : schedule_(&schedule), problem_(problem), output_(output_is_input() ? 0 : schedule.blocks()) {}

  [[nodiscard]] int size() const { return begin_of(Buffer::scratch) + scratch_blocks(); }
  [[nodiscard]] int first(const Slice& slice) const { return begin_of(slice.buffer) + slice.first; }

  [[nodiscard]] bool exists(const Slice& slice) const {
    const Run run = blocks_of(slice.buffer);
    return slice.count >= 1 && slice.first >= run.first && slice.first + slice.count <= run.end;
  }

  /// The block whose size the `index`-th block of a slice has.
  [[nodiscard]] int shape(const Slice& slice, int index) const {
    const int block = slice.first + index;
    return slice.buffer == Buffer::scratch ? schedule_->scratch_shape()[static_cast<std::size_t>(block)]
                                           : block;
  }

  /// MPI_Reduce_scatter in place reads its input from the receive buffer and leaves the result at its
  /// beginning. So a write to the output may destroy any block of the input, whatever the lengths of the
  /// blocks.
  [[nodiscard]] bool output_destroys_input() const {
    return problem_.collective == Collective::reduce_scatter && is_in_place() && schedule_->ranks() > 1;
  }

  [[nodiscard]] bool is_root() const { return schedule_->rank() == problem_.root; }

 private:
  struct Run {
    int first = 0;
    int end = 0;
  };

  [[nodiscard]] bool is_in_place() const { return problem_.placement == Placement::in_place; }

  [[nodiscard]] bool output_is_input() const {
    switch (problem_.collective) {
      case Collective::allreduce:
      case Collective::allgather:
        return is_in_place();
      case Collective::reduce:
        return is_in_place() && is_root();
      case Collective::reduce_scatter:
        return is_in_place() && schedule_->ranks() == 1;
      case Collective::bcast:
        return false;
    }
    return false;
  }

  [[nodiscard]] Run blocks_of(Buffer buffer) const {
    const Run all{0, schedule_->blocks()};
    const Run own{schedule_->rank(), schedule_->rank() + 1};
    if (buffer == Buffer::scratch) return {0, scratch_blocks()};
    switch (problem_.collective) {
      case Collective::allreduce:
        return all;
      case Collective::bcast:
        return buffer == Buffer::output ? all : Run{};
      case Collective::reduce:
        return buffer == Buffer::input || is_root() ? all : Run{};
      case Collective::reduce_scatter:
        return buffer == Buffer::input ? all : own;
      case Collective::allgather:
        return buffer == Buffer::output ? all : own;
    }
    return {};
  }

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
  Problem problem_;
  int output_;
};

}  // namespace stretto
