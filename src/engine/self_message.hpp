// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>

#include "engine/mpi.hpp"

namespace stretto {

/// Where messages of this rank to itself travel: a communicator of Stretto's own, where no receive of the
/// program can match them (as it could on MPI_COMM_SELF), and this rank there. To be set before any copy.
struct SelfMessages {
  MPI_Comm comm{};
  int rank = 0;
  std::mutex one_at_a_time{};  // the messages of two threads could match each other's
};
inline constinit SelfMessages self_messages;

/// Copies elements of one type to elements of another with the same signature, by a message to this rank.
/// Returns an MPI error code.
inline int copy_by_message(const void* from, int from_count, MPI_Datatype from_type, void* into,
                           int into_count, MPI_Datatype into_type) {
  constexpr int tag = 2;  // of channel 0, which no communicator gets (engine/channel.hpp)
  const std::lock_guard guard(self_messages.one_at_a_time);
  const int rank = self_messages.rank;
  return mpi.Sendrecv(from, from_count, from_type, rank, tag, into, into_count, into_type, rank, tag,
                      self_messages.comm, MPI_STATUS_IGNORE);
}

}  // namespace stretto
