// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <cstdlib>

#include "engine/element.hpp"
#include "engine/execution.hpp"
#include "engine/mpi.hpp"
#include "threads/backoff.hpp"

namespace stretto::test {

inline int world_rank = -1;

[[noreturn]] inline void fail(const char* file, int line, const char* what) {
  std::fprintf(stderr, "%s:%d: rank %d: failed: %s\n", file, line, world_rank, what);
  mpi.Abort(mpi.comm_world, EXIT_FAILURE);
  std::abort();
}

#define STRETTO_CHECK(condition) \
  if (!(condition)) ::stretto::test::fail(__FILE__, __LINE__, #condition)

/// MPI_Init for a program that links the engine itself.
inline void begin(int* argc, char*** argv) {
  MPI_Init(argc, argv);
  const std::string error = load_mpi();
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  if (!error.empty()) fail(__FILE__, __LINE__, error.c_str());
  load_predefined_handles();
}

/// Starts a call and waits until it has ended. Returns its MPI error code.
inline int run_to_end(Execution& execution, const Call& call) {
  execution.start(call, 0);
  Backoff backoff;
  while (!execution.ended()) {
    if (execution.progress()) {
      backoff.reset();
    } else {
      backoff.wait();
    }
  }
  return execution.error();
}

inline int size_of(MPI_Comm comm) {
  int ranks = 0;
  mpi.Comm_size(comm, &ranks);
  return ranks;
}

}  // namespace stretto::test
