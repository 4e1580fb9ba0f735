// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "engine/mpi.hpp"
#include "interpose/session/call_traits.hpp"
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
  MPI_Request* request = nullptr;
  /// Empty: the usual choice.
  std::optional<Spec> forced = std::nullopt;
  /// Set if the library carries the call out and something observes that (STRETTO_STATS and others).
  std::optional<LibraryCall> library_call = std::nullopt;
  /// Set if the library carries the call out and something is learned from it (STRETTO_ONLINE).
  std::shared_ptr<LearningCall> learning = nullptr;
};

}  // namespace stretto
