// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "engine/element.hpp"
#include "schedule/partition.hpp"

namespace stretto {

/// One call, as the engine gets it. Elements are numbered over the whole message. A buffer may hold only
/// some of them (the output of reduce_scatter, the input of allgather).
struct Call {
  const void* input = nullptr;
  void* output = nullptr;
  Element element;
  std::size_t count = 0;  // elements of the message
  Range input_holds;      // what lies in the buffers, from their beginnings; none if there is no such buffer
  Range output_holds;
  /// Whether both are one buffer. Equal addresses are not enough: each may be MPI_BOTTOM.
  bool in_place = false;
  /// Where the caller's block of each rank begins, and the end. If empty, schedules cut the message as they
  /// want.
  std::span<const std::size_t> borders = {};
  /// Where the blocks of the output begin, if they have other lengths than those of the input: of a
  /// collective with private lengths. `count` is 0 then, as on all ranks, and the message is never cut.
  std::span<const std::size_t> output_borders = {};
  int root = 0;

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
