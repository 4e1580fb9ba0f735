// SPDX-License-Identifier: Apache-2.0
// Blocking calls inside a node that go through shared memory alone, without an Operation
// (engine/execution/direct_execution.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "interpose/communicators/communicator.hpp"
#include "interpose/dispatch/program_call.hpp"
#include "interpose/operations/call_buffers.hpp"
#include "interpose/session/call_traits.hpp"
#include "select/spec.hpp"

namespace stretto {

/// Carries a blocking call out by `spec`, whose channel is open. Empty if it needs an Operation: it has
/// several segments, messages that go by MPI, an operation of the program, buffers on a device, or an
/// observer.
std::optional<int> try_direct(Communicator& state, const CallTraits& traits, const Spec& spec,
                              CallBuffers& message, const std::optional<CallKey>& key);

/// To be called before a call is asked to be direct. Takes a few nanoseconds.
bool may_be_direct(const Communicator& state);

/// What becomes of a call that was made before.
struct Repetition {
  bool is_known = false;
  std::optional<int> result = std::nullopt;  // empty: the library must carry it out, while `learning` lives
  std::shared_ptr<LearningCall> learning = nullptr;
};

/// Carries out a call if it was made before, and nothing else can decide about it since.
Repetition try_repeat(const CallKey& key, const void* input, void* output, MPI_Comm comm);

/// Whether a call with a predefined type may be one that was made before, or will be.
inline bool may_repeat(Form form, bool is_forced) {
  return session.may_repeat && form == Form::blocking && !is_forced;
}

}  // namespace stretto
