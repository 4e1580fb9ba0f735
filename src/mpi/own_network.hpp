// SPDX-License-Identifier: Apache-2.0
// A job without MPI. The core's functions of MPI are a face over sockets (src/faces/sockets), which has only
// the functions that the core itself calls. There is no MPI library to which a collective call could be left.
#pragma once

#include <memory>
#include <string>

#include "sockets/endpoint.hpp"

namespace stretto {

/// Fills in `mpi`. Each rank's endpoint knows the address of its parent. Collective over all ranks. Returns
/// an empty line, or one with the reason if not all ranks have come within `seconds`. In either case, the
/// network has begun.
std::string begin_own_network(std::unique_ptr<Endpoint> endpoint, double seconds);
/// Takes leave of the other ranks, for at most `seconds`, ends Stretto's session, and frees everything. Waits
/// for no other rank. `reason`: why it leaves; may be empty.
void end_own_network(double seconds, const std::string& reason);
/// Returns the endpoint, or nullptr if there is none. Any thread may call this.
std::shared_ptr<Endpoint> own_network();

}  // namespace stretto
