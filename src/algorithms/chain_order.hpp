// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <vector>

#include "topology/topology.hpp"

namespace stretto {

/// Returns all ranks in the order of a chain from the root: first the root's node, then the other nodes one
/// by one. So a message along the chain crosses each node's link at most once in each direction.
///
/// The ranks of the root's node are ordered away from the root. A reduce runs along the chain from its end;
/// it keeps rank order if nodes hold consecutive ranks and the root is the first or the last rank.
inline std::vector<int> chain_order(const Topology& topology, int root) {
  std::vector<int> order = topology.by_node;
  const auto node = static_cast<std::size_t>(topology.node(root));
  const auto home = order.begin() + topology.node_begin[node];
  const auto home_end = order.begin() + topology.node_begin[node + 1];
  std::rotate(home, home + topology.place(root), home + topology.place(root) + 1);
  if (topology.place(root) != 0) std::reverse(home + 1, home_end);
  std::rotate(order.begin(), home, order.end());
  return order;
}

/// Returns the place of a rank in an order of all ranks.
inline int place_in(const std::vector<int>& order, int rank) {
  return static_cast<int>(std::find(order.begin(), order.end(), rank) - order.begin());
}

}  // namespace stretto
