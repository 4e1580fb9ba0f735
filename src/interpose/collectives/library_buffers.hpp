// SPDX-License-Identifier: Apache-2.0
// What a collective reads and writes in the program's memory, by its arguments alone: also for calls that
// only the MPI library understands.
#pragma once

#include "interpose/collectives/signatures.hpp"
#include "interpose/operations/staged_library_call.hpp"

namespace stretto {

// Defines buffers_of_allreduce(sendbuf, recvbuf, count, datatype, op, comm) and the like. Arguments that the
// library will refuse touch nothing. `comm` is no intercommunicator. `Count` is int or MPI_Count.
#define STRETTO_BUFFERS_OF(Name, Iname, name, iname, collective, parameters, arguments) \
  template <typename Count>                                                             \
  LibraryBuffers buffers_of_##name parameters;
STRETTO_COLLECTIVES(STRETTO_BUFFERS_OF, Count)
#undef STRETTO_BUFFERS_OF

}  // namespace stretto
