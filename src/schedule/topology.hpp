// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

namespace stretto {

/// Where the ranks of a communicator live: pure data, the same on all of its ranks.
struct Topology {
  /// node_of[rank] is the node of that rank; nodes are numbered from 0 in the order of their lowest rank.
  std::vector<int> node_of;
  int nodes = 0;
  /// Ranks on the fullest and on the emptiest node; they differ on ragged nodes.
  int max_ppn = 0;
  int min_ppn = 0;

  [[nodiscard]] int ranks() const { return static_cast<int>(node_of.size()); }

  /// One rank a node: what a node-blind algorithm assumes.
  static Topology flat(int ranks);

  /// From any labels that are equal exactly for ranks of one node (world ranks of node leaders, say).
  static Topology from_labels(const std::vector<int>& label_of_rank);
};

}  // namespace stretto
