// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "schedule/schedule.hpp"

namespace stretto {

/// The blocks of the program's input that a rank's schedule reads, and those of the output that it writes, in
/// parts. The blocks of a part are in rising order.
struct TouchedBlocks {
  struct Part {
    int round = 0;
    std::vector<int> blocks;
  };
  /// Parts that are not read before `round`, in the order of rounds. In place, blocks that are written before
  /// they are read are left out.
  std::vector<Part> reads;
  /// Parts that are not written after `round`, in the order of rounds.
  std::vector<Part> writes;

  /// Makes at most about `parts` parts. Each consists of whole rounds, and all have about the same number of
  /// blocks.
  static TouchedBlocks find(const Schedule& schedule, bool in_place, std::size_t parts);
};

}  // namespace stretto
