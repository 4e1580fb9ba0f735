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

/// How the program makes a call, and what is to be told of it if it turns out to be the library's.
struct Form {
  Face face = Face::blocking;
  /// Where the program wants the request of a call that is not blocking.
  MPI_Request* request = nullptr;
  /// Empty: the choice.
  std::optional<Spec> forced = std::nullopt;
  /// Set when the library carries it out, and that is to be told of (STRETTO_STATS and others).
  std::optional<LibraryCall> library_call = std::nullopt;
  /// Set when the library carries it out, and something is learned by it (STRETTO_ONLINE).
  std::shared_ptr<LearningCall> learning = nullptr;
};

}  // namespace stretto
