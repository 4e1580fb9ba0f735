// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/data/element.hpp"
#include "schedule/partition.hpp"

namespace stretto {

class SegmentCopies;

/// Blocks of private lengths that travel through scratch are moved by two calls (relayed_execution.hpp). The
/// first one moves their lengths.
enum class Walk : std::uint8_t { only, of_lengths, by_lengths };

/// One call, as the engine gets it. Elements are numbered over the whole message. A buffer may hold only
/// some of them (the output of reduce_scatter, the input of allgather).
struct Call {
  const void* input = nullptr;
  void* output = nullptr;
  Element element;
  std::size_t count = 0;  // elements of the message
  Range input_holds;      // the elements in the buffers, from their start on; none if there is no such buffer
  Range output_holds;
  /// Whether input and output are one buffer. Equal addresses are not enough: each may be MPI_BOTTOM.
  bool in_place = false;
  /// The beginning of the caller's block of each rank, and the end. If empty, schedules cut the message as
  /// they want.
  std::span<const std::size_t> borders = {};
  /// The beginnings of the output's blocks, and the end, in a collective with private lengths: there, the
  /// blocks of the output may have other lengths than those of the input. `count` is 0 then on all ranks, and
  /// the message is never cut.
  std::span<const std::size_t> output_borders = {};
  Walk walk = Walk::only;
  /// [scratch block] Its length. The walk of lengths uses this as its scratch memory, and the second walk
  /// reads it.
  std::span<std::size_t> scratch_lengths = {};
  int root = 0;
  /// The copies from the program's buffers and back, if these are not in host memory.
  SegmentCopies* staging = nullptr;
  /// Whether buffers are in memory that only the MPI library can access.
  bool library_reads_device = false;

  /// Returns one of several segments, cut into as many blocks as its schedule has.
  [[nodiscard]] BlockCut cut(std::size_t segment, std::size_t segments, std::size_t blocks) const {
    if (!borders.empty()) return {borders, segment, segments};
    return {Partition(count, segments).run(segment), blocks};
  }

  /// Returns a call of a collective in which both buffers hold the whole message.
  static Call whole(const void* input, void* output, std::size_t count, const Element& element) {
    return {.input = input,
            .output = output,
            .element = element,
            .count = count,
            .input_holds = {0, count},
            .output_holds = {0, count}};
  }
};

}  // namespace stretto
