// SPDX-License-Identifier: Apache-2.0
// The entry for the measuring program (src/bench), which is of the same build. It calls MPI's functions in a
// job without MPI, too.
#include "interpose/interface/group.hpp"
#include "interpose/session/session.hpp"

using namespace stretto;

/// Prepares MPI_COMM_WORLD like a framework's group of all ranks, and makes Stretto serve calls of MPI's
/// functions on it. Collective over all ranks of the job that stretto_begin_by_store() has begun. Returns the
/// functions and handles of that job.
extern "C" STRETTO_VISIBLE const MpiLibrary* stretto_serve_measuring_program() {
  return without_exceptions(static_cast<const MpiLibrary*>(nullptr), [&]() -> const MpiLibrary* {
    session.serves_program = true;
    come_into_use(mpi.comm_world);
    return &mpi;
  });
}
