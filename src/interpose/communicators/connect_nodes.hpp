// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "mpi/mpi.hpp"

namespace stretto {

class Communicator;

/// Whether its ranks may find that connections are faster than the MPI library, and make some.
bool may_connect(const Communicator& state);

/// Makes connections of Stretto's own between the nodes, unless there are some. Collective over `comm`, which
/// has all ranks of MPI_COMM_WORLD. Returns whether there are connections, the same on all ranks; if some
/// nodes do not reach each other, there are none, and one line says why. It is false, too, while another
/// thread makes them.
bool connect_nodes(MPI_Comm comm);

/// The same for messages of so many bytes or more.
bool use_connections_from(std::size_t bytes, MPI_Comm comm);

/// Ends them. To be called when no message is in flight.
void disconnect_nodes();

}  // namespace stretto
