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

struct NextCalls {
  int (*init)(int*, char***);
  int (*init_thread)(int*, char***, int, int*);
  int (*finalize)();
  int (*allreduce)(const void*, void*, int, RawHandle, RawHandle, RawHandle);
  int (*allreduce_c)(const void*, void*, RawCount, RawHandle, RawHandle, RawHandle);
};

/// Looked up at the first call. A program without any MPI library never gets here.
const NextCalls& next();

}  // namespace stretto
