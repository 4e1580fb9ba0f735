// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>

#include "mpi/mpi.hpp"

namespace stretto {

/// The communicator for messages of this rank to itself. It is Stretto's own and has no other rank. On
/// MPI_COMM_SELF, a receive of the program could match these messages. On a communicator with other ranks,
/// MPICH 4 uses another path, which reports messages from or to MPI_BOTTOM as truncated. It must be set
/// before any copy.
struct SelfMessages {
  MPI_Comm comm{};
  std::mutex one_at_a_time{};  // the messages of two threads could match each other's
};
inline constinit SelfMessages self_messages;

/// Copies elements of one type to elements of another with the same signature, by a message to this rank.
/// Returns an MPI error code.
inline int copy_by_message(const void* from, int from_count, MPI_Datatype from_type, void* into,
                           int into_count, MPI_Datatype into_type) {
  const std::lock_guard guard(self_messages.one_at_a_time);
  return mpi.Sendrecv(from, from_count, from_type, 0, 0, into, into_count, into_type, 0, 0,
                      self_messages.comm, mpi.status_ignore);
}

}  // namespace stretto
