// SPDX-License-Identifier: Apache-2.0
// Groups of ranks that are near each other, for algorithms inside a node with many ranks.
#pragma once

#include <vector>

#include "topology/topology.hpp"

namespace stretto {

/// Returns the ranks that share a last-level cache, ascending, group by group in the order of their lowest
/// ranks. A cache of more than 16 ranks (or a node whose caches are unknown) is cut evenly into groups of at
/// most 16: a rank that waits for more messages than its core can have outstanding misses takes turns.
std::vector<std::vector<int>> cache_groups(const Topology& topology);

}  // namespace stretto
