// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "schedule/topology.hpp"
#include "select/settings.hpp"

namespace stretto {

/// Which ranks of MPI_COMM_WORLD share a node, a socket and a NUMA domain: as STRETTO_TOPOLOGY says, or as
/// MPI and the machine say. The same on all ranks. Collective over MPI_COMM_WORLD.
Topology find_topology(const Settings& settings);

}  // namespace stretto
