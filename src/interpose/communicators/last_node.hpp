// SPDX-License-Identifier: Apache-2.0
// Between nodes, calls of 1 KiB are looked at. Inside a node such a call takes less than a microsecond, in
// which finding its communicator would be felt. So each thread keeps the last communicator of one node.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "engine/mpi.hpp"
#include "interpose/session/session.hpp"

namespace stretto {

/// Changes whenever a communicator is freed, since its handle may be used again.
inline std::atomic<std::uint64_t> freed_communicators{0};

struct LastNode {
  MPI_Comm comm{};
  std::uint64_t freed = 0;
  /// [collective] Calls of fewer bytes are the library's.
  std::array<std::size_t, collectives.size()> floors{};
};
inline thread_local LastNode last_node;

/// Keeps a communicator of one node.
inline void keep_as_last_node(MPI_Comm comm, std::uint64_t freed) {
  last_node.comm = comm;
  last_node.freed = freed;
  for (const Collective collective : collectives) {
    last_node.floors.at(static_cast<std::size_t>(collective)) =
        session.floor_inside_node(collective, Face::blocking);
  }
}

/// Returns the bytes below which calls on this communicator are the library's; 0 if it is not the last one of
/// one node, or if something else than table and rule may decide.
inline std::size_t floor_of_last_node(MPI_Comm comm, Collective collective) {
  const LastNode& last = last_node;
  if (last.comm != comm || last.freed != freed_communicators.load(std::memory_order_acquire)) return 0;
  const bool is_learned =
      session.native_floor(collective, Face::blocking) == session.online_floor(collective);
  if (!is_learned || session.program_forced(collective) != nullptr) return 0;
  return last.floors[static_cast<std::size_t>(collective)];
}

}  // namespace stretto
