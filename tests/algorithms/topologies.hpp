// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <random>
#include <vector>

#include "topology/topology.hpp"

namespace stretto {

/// Nodes of `ppn` consecutive ranks each.
inline Topology equal_nodes(int nodes, int ppn) {
  std::vector<int> labels;
  for (int rank = 0; rank < nodes * ppn; ++rank) labels.push_back(rank / ppn);
  return Topology::from_labels(labels);
}

/// Nodes of `least` to `most` ranks, as runs or mixed up, each with up to three sockets and NUMA domains.
inline Topology ragged_nodes(std::mt19937& random, int nodes, int least, int most) {
  const auto below = [&](int end) { return static_cast<int>(random() % static_cast<unsigned>(end)); };
  std::vector<int> labels;
  for (int node = 0; node < nodes; ++node) {
    labels.insert(labels.end(), static_cast<std::size_t>(least + below(most - least + 1)), node);
  }
  if (below(2) == 0) std::shuffle(labels.begin(), labels.end(), random);
  std::vector<int> sockets;
  std::vector<int> numas;
  const int most_sockets = 1 + below(3);
  const int most_numas = 1 + below(3);
  for (std::size_t rank = 0; rank < labels.size(); ++rank) {
    sockets.push_back(below(most_sockets));
    numas.push_back(below(most_numas));
  }
  return Topology::from_labels(labels, sockets, numas);
}

}  // namespace stretto
