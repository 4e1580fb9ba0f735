// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "interpose/start/start_exchange.hpp"
#include "settings/settings.hpp"
#include "topology/topology.hpp"

namespace stretto {

/// Sets node, socket and NUMA domain of this rank. Asks no other rank: MPI_Comm_split_type and the like
/// take long in some libraries if ranks outnumber cores.
void find_own_place(RankFacts& own);

/// Returns which ranks of MPI_COMM_WORLD share a node, a socket and a NUMA domain: as STRETTO_TOPOLOGY
/// says, or as the ranks found. The same on all ranks.
Topology find_topology(const Settings& settings, const std::vector<RankFacts>& of_rank);

/// Whether the ranks that run under the kernel of this one outnumber their processors, or may.
bool outnumber_cores(const std::vector<RankFacts>& of_rank, int rank);

}  // namespace stretto
