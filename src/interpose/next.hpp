// SPDX-License-Identifier: Apache-2.0
// Where a call goes on to when Stretto leaves it alone: to the next object that defines it, so that other
// tools in the same process (profilers that define MPI_*) still see it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace stretto {

/// A handle as it stands in a register: an int in MPICH's interface, a pointer in Open MPI's. Passing it on
/// unread keeps a program whole that Stretto was preloaded into for the wrong interface.
using RawHandle = std::uintptr_t;

/// MPI_Count in both interfaces.
using RawCount = std::int64_t;

/// The collectives with `int` counts, or the large-count forms (MPI_Allreduce_c, …).
template <typename Count>
struct NextCollectives {
  int (*allreduce)(const void*, void*, Count, RawHandle, RawHandle, RawHandle);
  int (*bcast)(void*, Count, RawHandle, int, RawHandle);
  int (*reduce)(const void*, void*, Count, RawHandle, RawHandle, int, RawHandle);
  int (*reduce_scatter)(const void*, void*, const Count*, RawHandle, RawHandle, RawHandle);
  int (*reduce_scatter_block)(const void*, void*, Count, RawHandle, RawHandle, RawHandle);
  int (*allgather)(const void*, Count, RawHandle, void*, Count, RawHandle, RawHandle);
};

struct NextCalls {
  int (*init)(int*, char***);
  int (*init_thread)(int*, char***, int, int*);
  int (*finalize)();
  NextCollectives<int> collectives;
  NextCollectives<RawCount> large_collectives;
};

/// Looked up at the first call. A program without any MPI library never gets here.
const NextCalls& next();

/// Count: int or RawCount.
template <typename Count>
const NextCollectives<Count>& next_with() {
  if constexpr (std::is_same_v<Count, int>) {
    return next().collectives;
  } else {
    return next().large_collectives;
  }
}

}  // namespace stretto
