// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "engine/data/element.hpp"
#include "engine/data/self_message.hpp"
#include "engine/execution/execution.hpp"
#include "engine/messages/connections.hpp"
#include "engine/messages/neighbours.hpp"
#include "mpi/mpi.hpp"
#include "sockets/address.hpp"
#include "sockets/endpoint.hpp"
#include "threads/backoff.hpp"

// A test is compiled once, and linked with the face and the library of each interface. These functions are
// the same in all interfaces.
extern "C" int MPI_Init(int* argc, char*** argv);
extern "C" int MPI_Finalize();

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
  if (!error.empty()) fail(__FILE__, __LINE__, error.c_str());
  mpi.Comm_rank(mpi.comm_world, &world_rank);
  load_predefined_handles();
  self_messages.comm = mpi.comm_self;
}

/// The resources that calls get from their channel.
inline CallResources resources;
/// The number of calls on a communicator, which is the same on all of its ranks.
inline unsigned calls_so_far = 0;
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
    mpi.Allreduce(&in, &out, 1, mpi.int_, mpi.sum, mpi.comm_world);
  };
  memory.open();
  NodeMemory::Owner own{getpid(), memory.file(), static_cast<std::uint64_t>(world_rank) + 77};
  STRETTO_CHECK(memory.make(RegionShape::make(ranks, std::size_t{512} << 10), world_rank, own.token).empty());
  std::vector<NodeMemory::Owner> owners(static_cast<std::size_t>(ranks));
  mpi.Allgather(&own, sizeof own, mpi.byte, owners.data(), sizeof own, mpi.byte, mpi.comm_world);
  STRETTO_CHECK(memory.map(owners).empty());
  barrier();
  memory.close_files();
  Neighbours all{.memory = &memory, .place_of = {}};
  for (int rank = 0; rank < ranks; ++rank) {
    all.place_of.push_back(rank == world_rank ? Neighbours::none : rank);
  }
  neighbours = std::make_shared<const Neighbours>(std::move(all));
  for (std::size_t i = 0; i < resources.lanes.size(); ++i) resources.lanes[i] = static_cast<std::int8_t>(i);
}

inline int size_of(MPI_Comm comm) {
  int ranks = 0;
  mpi.Comm_size(comm, &ranks);
  return ranks;
}

/// Lets connections carry all messages except those of every third call, as in a job that goes back to the
/// library and returns to connections. Collective over the world.
inline void connect() {
  const int ranks = size_of(mpi.comm_world);
  Address own{.family = 4};
  own.ip = {std::byte{127}, std::byte{0}, std::byte{0}, std::byte{1}};
  Socket listener = listen_at(own);
  auto endpoint = std::make_unique<Endpoint>(world_rank, ranks, SipKey{}, std::move(listener), own);
  std::vector<Address> all(static_cast<std::size_t>(ranks));
  mpi.Allgather(&own, sizeof own, mpi.byte, all.data(), sizeof own, mpi.byte, mpi.comm_world);
  std::vector<int> nodes;
  for (int rank = 0; rank < ranks; ++rank) {
    endpoint->set_address(rank, all[static_cast<std::size_t>(rank)]);
    nodes.push_back(rank);
  }
  set_connections(std::make_unique<Connections>(std::move(endpoint), std::move(nodes)));
}

/// To be called on all ranks, when no message is in flight.
inline void disconnect() {
  connections()->endpoint().leave(20);
  set_connections(nullptr);
  resources.connections_from = CallResources::no_connections;
}

/// Starts a call and waits until it has ended. Returns its MPI error code.
inline int run_to_end(Execution& execution, const Call& call) {
  if (connections() != nullptr)
    resources.connections_from = ++calls_so_far % 3 == 0 ? CallResources::no_connections : 1;
  execution.start(call, resources);
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

/// Returns a communicator of the first ranks of the world; MPI_COMM_NULL on the others. Collective over the
/// world.
inline MPI_Comm make_communicator(int ranks) {
  std::vector<int> first(static_cast<std::size_t>(ranks));
  std::iota(first.begin(), first.end(), 0);
  MPI_Group world{};
  MPI_Group group{};
  mpi.Comm_group(mpi.comm_world, &world);
  mpi.Group_incl(world, ranks, first.data(), &group);
  MPI_Comm comm = mpi.comm_null;
  mpi.Comm_create(mpi.comm_world, group, &comm);
  mpi.Group_free(&group);
  mpi.Group_free(&world);
  return comm;
}

}  // namespace stretto::test
