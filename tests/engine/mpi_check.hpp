// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#include "engine/element.hpp"
#include "engine/execution.hpp"
#include "engine/mpi.hpp"
#include "engine/neighbours.hpp"
#include "engine/self_message.hpp"
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
  self_messages.comm = mpi.comm_self;
}

/// What calls have of their channel.
inline Passage passage;
/// The ranks of the world, if share_memory() was called.
inline SharedNeighbours neighbours;

/// Lets messages go through shared memory. Collective over the world, of one node.
inline void share_memory() {
  static NodeMemory memory;
  int ranks = 0;
  mpi.Comm_size(mpi.comm_world, &ranks);
  const auto barrier = [] {
    int in = 0;
    int out = 0;
    mpi.Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, mpi.comm_world);
  };
  memory.open();
  NodeMemory::Owner own{getpid(), memory.file(), static_cast<std::uint64_t>(world_rank) + 77};
  STRETTO_CHECK(memory.make(RegionShape::make(ranks, std::size_t{512} << 10), world_rank, own.token).empty());
  std::vector<NodeMemory::Owner> owners(static_cast<std::size_t>(ranks));
  mpi.Allgather(&own, sizeof own, MPI_BYTE, owners.data(), sizeof own, MPI_BYTE, mpi.comm_world);
  STRETTO_CHECK(memory.map(owners).empty());
  barrier();
  memory.close_files();
  Neighbours all{.memory = &memory, .place_of = {}};
  for (int rank = 0; rank < ranks; ++rank) {
    all.place_of.push_back(rank == world_rank ? Neighbours::none : rank);
  }
  neighbours = std::make_shared<const Neighbours>(std::move(all));
  for (std::size_t i = 0; i < passage.lanes.size(); ++i) passage.lanes[i] = static_cast<std::int8_t>(i);
}

/// Starts a call and waits until it has ended. Returns its MPI error code.
inline int run_to_end(Execution& execution, const Call& call) {
  execution.start(call, passage);
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
