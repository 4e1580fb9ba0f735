// SPDX-License-Identifier: Apache-2.0
// Predicates that the tables of algorithms share.
#pragma once

#include <string_view>

#include "algorithms/registry.hpp"

namespace stretto {

inline bool always(const Task& /*task*/) {
  return true;
}
inline bool never(const Task& /*task*/) {
  return false;
}
inline bool up_to_two_ranks(const Task& task) {
  return task.ranks() <= 2;
}
inline std::string_view without_lanes(const Task& task) {
  return task.topology.max_ppn == 1 ? "each node has one rank, so there are no lanes" : "";
}

/// For algorithms that send to all others at once, which pays where ranks share memory.
inline std::string_view needs_one_node(const Task& task) {
  return task.topology.nodes > 1
             ? "it is for ranks of one node; pairwise sends the same messages between nodes"
             : "";
}

}  // namespace stretto
