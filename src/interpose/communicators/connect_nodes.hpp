// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "mpi/mpi.hpp"

namespace stretto {

class Communicator;

/// Whether the communicator's ranks may make connections if they find that these are faster than the MPI
/// library.
bool may_connect(const Communicator& state);

/// Makes Stretto's own connections between the nodes, unless they exist. The call is collective over `comm`,
/// which has all ranks of MPI_COMM_WORLD. Returns whether there are connections; all ranks get the same
/// result. If some nodes do not reach each other, it makes none, and one line says why. It also returns false
/// while another thread makes the connections.
bool connect_nodes(MPI_Comm comm);

/// Calls connect_nodes(), and lets the connections carry messages of at least `bytes`. Returns whether there
/// are connections.
bool use_connections_from(std::size_t bytes, MPI_Comm comm);

/// Ends the connections. To be called when no message is in flight.
void disconnect_nodes();

}  // namespace stretto
