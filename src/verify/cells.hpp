// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>

#include "verify/verify.hpp"

namespace stretto {

/// Numbers the blocks in a rank's memory: first the input's, then the output's (the same numbers if
/// MPI_IN_PLACE makes them the same memory), then scratch. Also says which blocks the collective has on this
/// rank (collective.hpp).
class Cells {
 public:
  /// `ranks`, `rank` and `blocks` are those of the rank's schedule. The shape must outlive this.
  Cells(int ranks, int rank, int blocks, const ScratchShape& scratch_shape, const Problem& problem)
      : ranks_(ranks),
        rank_(rank),
        blocks_(blocks),
        scratch_shape_(&scratch_shape),
        problem_(problem),
        output_(output_is_input() ? 0 : blocks) {}

  [[nodiscard]] int size() const { return begin_of(Buffer::scratch) + scratch_blocks(); }
  /// The number of the index-th block of a slice.
  [[nodiscard]] int number(const Slice& slice, int index) const {
    return begin_of(slice.buffer) + slice.block(index);
  }

  [[nodiscard]] bool exists(const Slice& slice) const {
    const Run run = blocks_of(slice.buffer);
    const auto has = [&](int index) {
      return slice.block(index) >= run.first && slice.block(index) < run.end;
    };
    if (slice.count < 1 || slice.run < 0) return false;
    if (!slice.is_strided()) return has(0) && has(slice.count - 1);
    for (int index = 0; index < slice.count; ++index) {
      if (!has(index)) return false;
    }
    return true;
  }

  /// Returns the block whose size the `index`-th block of a slice has. All blocks of an alltoall have one
  /// size.
  [[nodiscard]] int shape(const Slice& slice, int index) const {
    if (is_alltoall(problem_.collective)) return 0;
    const int block = slice.block(index);
    return slice.buffer == Buffer::scratch ? (*scratch_shape_)[static_cast<std::size_t>(block)] : block;
  }

  /// MPI_Reduce_scatter in place reads its input from the receive buffer and leaves the result at its
  /// beginning. So a write to the output may destroy any block of the input, whatever the lengths of the
  /// blocks.
  [[nodiscard]] bool output_destroys_input() const {
    return problem_.collective == Collective::reduce_scatter && is_in_place() && ranks_ > 1;
  }

  [[nodiscard]] bool is_root() const { return rank_ == problem_.root; }

 private:
  struct Run {
    int first = 0;
    int end = 0;
  };

  [[nodiscard]] bool is_in_place() const { return problem_.placement == Placement::in_place; }

  [[nodiscard]] bool output_is_input() const {
    if (!is_in_place() || problem_.collective == Collective::bcast) return false;
    if (problem_.collective == Collective::reduce_scatter) return ranks_ == 1;
    return !has_root(problem_.collective) || is_root();
  }

  [[nodiscard]] Run blocks_of(Buffer buffer) const {
    if (buffer == Buffer::scratch) return {0, scratch_blocks()};
    const auto [input, output] = held_blocks(problem_.collective, rank_, problem_.root);
    const Held held = buffer == Buffer::input ? input : output;
    if (held == Held::own) return {rank_, rank_ + 1};
    return {0, held == Held::all ? blocks_ : 0};
  }

  [[nodiscard]] int scratch_blocks() const { return static_cast<int>(scratch_shape_->size()); }
  [[nodiscard]] int begin_of(Buffer buffer) const {
    const std::array begins{0, output_, output_ + blocks_};
    return begins.at(static_cast<std::size_t>(buffer));
  }

  int ranks_;
  int rank_;
  int blocks_;
  const ScratchShape* scratch_shape_;
  Problem problem_;
  int output_;
};

}  // namespace stretto
