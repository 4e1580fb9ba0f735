// SPDX-License-Identifier: Apache-2.0
// A job without MPI: the core's functions of MPI are a face over sockets (src/faces/sockets), which has what
// the core itself calls. No library is behind it whose collectives a call could be left to.
#pragma once

#include <memory>
#include <string>

#include "sockets/endpoint.hpp"

namespace stretto {

/// Returns the parent of a rank in the tree over which the ranks exchange their addresses: that rank without
/// its lowest bit.
constexpr int parent_in_start(int rank) {
  return rank & (rank - 1);
}

/// Fills in `mpi`. Each rank's endpoint knows the address of its parent. Collective over all ranks. Returns
/// one line with the reason if not all have come after so many seconds, or an empty one. In both cases it has
/// begun.
std::string begin_own_network(std::unique_ptr<Endpoint> endpoint, double seconds);
/// Takes leave of the other ranks, for at most so many seconds, ends Stretto's session, and frees all. Waits
/// for no other rank.
void end_own_network(double seconds);
/// Returns the endpoint while there is one, to any thread.
std::shared_ptr<Endpoint> own_network();

}  // namespace stretto
