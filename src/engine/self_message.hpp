// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>

#include "engine/mpi.hpp"

namespace stretto {

/// Copies elements of one type to elements of another with the same signature, by a message to this rank. One
/// thread at a time, since on MPI_COMM_SELF the messages of two could match each other's. The tag is one that
/// programs hardly use there. Returns an MPI error code.
inline int copy_by_message(const void* from, int from_count, MPI_Datatype from_type, void* into,
                           int into_count, MPI_Datatype into_type) {
  constexpr int tag = 32749;
  static std::mutex one_at_a_time;
  const std::lock_guard guard(one_at_a_time);
  return mpi.Sendrecv(from, from_count, from_type, 0, tag, into, into_count, into_type, 0, tag, mpi.comm_self,
                      MPI_STATUS_IGNORE);
}

}  // namespace stretto
