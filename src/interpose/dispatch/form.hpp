// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "mpi/places.hpp"
#include "interpose/communicators/known_communicators.hpp"
#include "interpose/communicators/repeated_calls.hpp"
#include "interpose/session/call_traits.hpp"
#include "interpose/session/session.hpp"
#include "select/face.hpp"
#include "select/spec.hpp"

namespace stretto {

class Communicator;
class LearningCall;

/// A call that the library carries out.
struct LibraryCall {
  CallTraits traits;
  std::shared_ptr<Communicator> state;
  std::uint64_t sequence = 0;
};

/// How the program makes a call, and what is recorded if the library carries it out.
struct Form {
  Face face = Face::blocking;
  /// Where the program wants the request of a non-blocking or persistent call.
  Place<MPI_Request> request = {};
  /// Empty: the usual choice.
  std::optional<Spec> forced = std::nullopt;
  /// What this rank sends and receives, where other ranks do not know that: never a reason for a choice.
  std::size_t private_bytes = 0;
  /// Of a blocking call that may be repeated as it is.
  std::optional<CallKey> key = std::nullopt;
  /// Set if the library carries the call out and something observes that (STRETTO_STATS and others).
  std::optional<LibraryCall> library_call = std::nullopt;
  /// Set if the library carries the call out and something is learned from it (STRETTO_ONLINE).
  std::shared_ptr<LearningCall> learning = nullptr;
};

/// Whether a call may go straight to the library, because nothing else is ever chosen for so few bytes.
inline bool is_small(const Form& form, Collective collective, std::size_t bytes, MPI_Comm comm) {
  if (form.forced) return false;
  if (form.face != Face::blocking) return bytes < session.native_floor(collective, form.face);
  if (session.due_races.load(std::memory_order_relaxed) != 0) return false;
  if (bytes < session.native_floor(collective, form.face)) return true;
  const KnownCommunicator* known = find_known(comm);
  return known != nullptr && is_left_to_choice(collective) &&
         bytes < known->floors[static_cast<std::size_t>(collective)];
}

}  // namespace stretto
