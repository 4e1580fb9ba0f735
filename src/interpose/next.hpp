// SPDX-License-Identifier: Apache-2.0
// Where a call goes on to when Stretto leaves it alone: to the next object that defines it, so that other
// tools in the same process (profilers that define MPI_*) still see it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stretto {

/// A handle as it stands in a register: an int in MPICH's interface, a pointer in Open MPI's. Passing it on
/// unread keeps a program whole that Stretto was preloaded into for the wrong interface.
using RawHandle = std::uintptr_t;

/// MPI_Count in both interfaces.
using RawCount = std::int64_t;

template <typename Count>
struct NextCollectives {
  using Allreduce = int (*)(const void*, void*, Count, RawHandle, RawHandle, RawHandle);
  using Bcast = int (*)(void*, Count, RawHandle, int, RawHandle);
  using Reduce = int (*)(const void*, void*, Count, RawHandle, RawHandle, int, RawHandle);
  using ReduceScatter = int (*)(const void*, void*, const Count*, RawHandle, RawHandle, RawHandle);
  using Allgather = int (*)(const void*, Count, RawHandle, void*, Count, RawHandle, RawHandle);
};

struct NextCalls {
  int (*init)(int*, char***);
  int (*init_thread)(int*, char***, int, int*);
  int (*finalize)();
  NextCollectives<int>::Allreduce allreduce;
  NextCollectives<int>::Bcast bcast;
  NextCollectives<int>::Reduce reduce;
  NextCollectives<int>::ReduceScatter reduce_scatter;
  NextCollectives<int>::Allreduce reduce_scatter_block;
  NextCollectives<int>::Allgather allgather;
  NextCollectives<RawCount>::Allreduce allreduce_c;
  NextCollectives<RawCount>::Bcast bcast_c;
  NextCollectives<RawCount>::Reduce reduce_c;
  NextCollectives<RawCount>::ReduceScatter reduce_scatter_c;
  NextCollectives<RawCount>::Allreduce reduce_scatter_block_c;
  NextCollectives<RawCount>::Allgather allgather_c;
};

/// Looked up at the first call. A program without any MPI library never gets here.
const NextCalls& next();

}  // namespace stretto
