// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "interpose/start/start_exchange.hpp"
#include "settings/settings.hpp"
#include "topology/topology.hpp"

namespace stretto {

/// Sets the node, socket and NUMA domain of this rank. Asks no other rank: MPI_Comm_split_type and the like
/// take long in some libraries if ranks outnumber cores.
void find_own_place(RankFacts& own);

/// Returns the topology of MPI_COMM_WORLD: which ranks share a node, a socket and a NUMA domain. It comes
/// from STRETTO_TOPOLOGY, or else from the facts of the ranks. All ranks get the same result.
Topology find_topology(const Settings& settings, const std::vector<RankFacts>& of_rank);

/// Whether the ranks that run under the kernel of this one outnumber their processors, or may do so.
bool outnumber_cores(const std::vector<RankFacts>& of_rank, int rank);

/// Whether that holds on any machine. All ranks get the same answer.
bool outnumber_cores_somewhere(const std::vector<RankFacts>& of_rank);

}  // namespace stretto
