// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "interpose/start/start_exchange.hpp"

namespace stretto {

/// Makes connections of Stretto's own between the nodes, if STRETTO_CONNECTIONS asks for them. Collective
/// over MPI_COMM_WORLD, once the topology is known. If some nodes do not reach each other, there are none,
/// and one line says why.
void connect_nodes(const std::vector<RankFacts>& of_rank);

/// Ends them. To be called when no message is in flight.
void disconnect_nodes();

}  // namespace stretto
