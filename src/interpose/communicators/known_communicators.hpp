// SPDX-License-Identifier: Apache-2.0
// Each thread keeps the communicators that it used last. Inside a node, a short call takes a fraction of a
// microsecond. Finding its communicator again would be a noticeable part of that.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "interpose/session/session.hpp"
#include "mpi/mpi.hpp"
#include "select/floors.hpp"

namespace stretto {

class Communicator;

/// Changes whenever a communicator is freed, since its handle may be used again.
inline std::atomic<std::uint64_t> freed_communicators{0};

struct KnownCommunicator {
  MPI_Comm comm{};
  std::uint64_t freed = 0;
  const Floors* floors = nullptr;  // the state's
  Communicator* state = nullptr;
};

inline KnownCommunicator& place_of_known(MPI_Comm comm) {
  constexpr std::size_t entries = 4;
  static thread_local std::array<KnownCommunicator, entries> known;
  const auto handle = (std::uintptr_t)comm;  // NOLINT: a pointer in Open MPI, an int in MPICH
  return known[(handle ^ (handle >> 6) ^ (handle >> 12)) % entries];
}

inline void keep_known(MPI_Comm comm, const Floors& floors, Communicator& state) {
  KnownCommunicator& known = place_of_known(comm);
  known.comm = comm;
  known.freed = freed_communicators.load(std::memory_order_acquire);
  known.floors = &floors;
  known.state = &state;
}

/// Returns this thread's entry for a communicator, or nullptr if it has none.
inline const KnownCommunicator* find_known(MPI_Comm comm) {
  const KnownCommunicator& known = place_of_known(comm);
  const bool is_current = known.state != nullptr && known.comm == comm &&
                          known.freed == freed_communicators.load(std::memory_order_acquire);
  return is_current ? &known : nullptr;
}

/// Whether only table, rule and learner decide about blocking calls.
inline bool is_left_to_choice(Collective collective) {
  return session.is_left_to_choice[static_cast<std::size_t>(collective)] &&
         session.program_forced(collective) == nullptr;
}

}  // namespace stretto
