// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "topology/topology.hpp"

namespace stretto {

class TopologyError : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

/// A topology as STRETTO_TOPOLOGY and the tools' --topology write it:
///   nodes=8,ppn=4                        32 ranks, by slot: ranks 0-3 on node 0
///   nodes=8,ppn=4,sockets=2,numas=2      2 sockets a node, 2 NUMA domains a socket
///   nodes=8,ppn=4,mapping=by_node        dealt in turns: ranks 0, 8, 16 and 24 on node 0
///   ppn=4+4+1                            ragged: as many nodes as numbers
///   map=0,0,1,1,2                        the node of each rank
/// or one line a rank, as a file has it: the name of its node, then, if known, of its socket and NUMA domain.
/// Throws TopologyError with one line that names what cannot be read and what would be right.
Topology parse_topology(std::string_view text);

}  // namespace stretto
