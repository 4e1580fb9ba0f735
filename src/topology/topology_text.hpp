// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string_view>

#include "topology/topology.hpp"

namespace stretto {

class TopologyError : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

/// Reads a topology as STRETTO_TOPOLOGY and the tools' --topology write it:
///
///   nodes=8,ppn=4                        32 ranks, by slot: ranks 0-3 on node 0
///   nodes=8,ppn=4,sockets=2,numas=2      2 sockets on a node, 2 NUMA domains on a socket
///   nodes=8,ppn=4,sockets=2,l3=2         2 groups on a socket that share a last-level cache
///   nodes=8,ppn=4,mapping=by_node        in turn: ranks 0, 8, 16 and 24 on node 0
///   ppn=4+4+1                            ragged: a node for each number
///   map=0,0,1,1,2                        the node of each rank
///
/// or, as in a file, one line for each rank: the name of its node, then, if known, those of its socket, its
/// NUMA domain and its last-level cache. Throws TopologyError with one line that names what cannot be read
/// and what is expected.
Topology parse_topology(std::string_view text);

}  // namespace stretto
