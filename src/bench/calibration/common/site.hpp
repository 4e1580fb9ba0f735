// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "schedule/topology.hpp"

namespace stretto::bench {

/// Two ranks at a distance that the models tell apart, and what is known of messages between them, on all
/// ranks alike: rough figures, by which the measuring is planned.
struct Level {
  std::string name;  // socket, node or network
  std::vector<int> pair;
  double latency = 0;    // seconds of a message of a few bytes
  double bandwidth = 0;  // bytes a second of large ones, one after the other
  /// What an idle link has saved up and lets pass at once (a token bucket), in bytes; 0: there is none.
  double burst = 0;

  /// Seconds in which the bucket fills up again, and half as many again.
  double pause() const { return burst > 0 ? 1.5 * burst / bandwidth : 0; }
  /// Seconds that a message takes, about.
  double seconds(std::size_t bytes) const { return latency + static_cast<double>(bytes) / bandwidth; }
};

/// Where the ranks run.
struct Site {
  int rank = 0;
  Topology topology;
  /// Ranks are bound, and the library says to which socket.
  bool knows_sockets = false;
  std::vector<Level> levels;  // the nearest first; those that there are
};

/// Collective over MPI_COMM_WORLD: asks MPI, whose own algorithms go by that.
Site find_site();

/// Ranks of two nodes far from each other in the order of nodes, from the first half and from the second:
/// `pair` of as many as there are halves.
std::vector<int> leaders_of_far_nodes(const Topology& topology, int pair);

}  // namespace stretto::bench
