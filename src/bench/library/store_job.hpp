// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace stretto::bench {

/// Begins the job without MPI whose ranks RANK and WORLD_SIZE count, and fills in `mpi`. Whoever started this
/// process has a store for all of them (python/stretto/sockets/store.py), behind the connection that
/// STRETTO_STORE names. Throws std::runtime_error with one line.
void begin_store_job();
void end_store_job();

}  // namespace stretto::bench
