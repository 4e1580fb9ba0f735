// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "schedule/schedule.hpp"

namespace stretto {

/// What a rank's schedule needs of the program's input, and what it makes of the output. Of each part: its
/// blocks, in rising order.
struct TouchedBlocks {
  struct Part {
    int round = 0;
    std::vector<int> blocks;
  };
  /// Not read before `round`, in the order of rounds. In place, what is written before it is read is left
  /// out.
  std::vector<Part> reads;
  /// Not written after `round`, in the order of rounds.
  std::vector<Part> writes;

  /// Makes at most about `parts` parts, of whole rounds and of about as many blocks.
  static TouchedBlocks find(const Schedule& schedule, bool in_place, std::size_t parts);
};

}  // namespace stretto
