// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "transport/node_memory.hpp"

namespace stretto {

/// The ranks of a communicator that this rank reaches through shared memory.
struct Neighbours {
  static constexpr int none = -1;

  NodeMemory* memory = nullptr;
  std::vector<int> place_of;  // [rank] its place in `memory`, or `none`: another node, or this rank itself
};

/// nullptr: there are none, and all messages go by MPI.
using SharedNeighbours = std::shared_ptr<const Neighbours>;

}  // namespace stretto
