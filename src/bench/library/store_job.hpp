// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace stretto::bench {

/// Begins a job without MPI and fills in `mpi`. RANK and WORLD_SIZE give this rank and the number of ranks.
/// The process that started this one has a store for all ranks (python/stretto/sockets/store.py);
/// STRETTO_STORE names the connection to it. Throws std::runtime_error with one line.
void begin_store_job();
void end_store_job();

}  // namespace stretto::bench
