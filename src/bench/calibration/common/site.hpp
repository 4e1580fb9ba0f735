// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "topology/topology.hpp"

namespace stretto::bench {

/// Two ranks at a distance that the models distinguish, and rough figures of messages between them, the same
/// on all ranks. The measurements are planned with these figures.
struct Level {
  std::string name;  // socket, node or network
  std::vector<int> pair;
  double latency = 0;    // seconds of a message of a few bytes
  double bandwidth = 0;  // bytes a second of large messages, one after the other
  /// Bytes that an idle link has saved up and sends at once (a token bucket); 0: there is none.
  double burst = 0;

  /// Returns 1.5 times the seconds in which the bucket fills up again.
  double pause() const { return burst > 0 ? 1.5 * burst / bandwidth : 0; }
  /// Returns about how many seconds a message takes.
  double seconds(std::size_t bytes) const { return latency + static_cast<double>(bytes) / bandwidth; }
};

/// The places where the ranks run, and their distances.
struct Site {
  int rank = 0;
  Topology topology;
  /// Whether ranks are bound and the MPI library says to which socket.
  bool knows_sockets = false;
  std::vector<Level> levels;  // nearest first; only existing ones
};

/// Finds the site. Asks MPI, because MPI's own algorithms depend on its answer. Collective over
/// MPI_COMM_WORLD.
Site find_site();

/// Returns ranks of two nodes that are far apart in the order of nodes: one in the first half, one in the
/// second. There are as many such pairs as nodes in a half.
std::vector<int> leaders_of_far_nodes(const Topology& topology, int pair);

}  // namespace stretto::bench
