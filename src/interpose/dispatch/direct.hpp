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

/// Carries a blocking call out by `spec`, whose channel is open. Returns an empty result if the call needs an
/// Operation: it has several segments, messages that go by MPI, an operation of the program, buffers on a
/// device, or an observer.
std::optional<int> try_direct(Communicator& state, const CallTraits& traits, const Spec& spec,
                              CallBuffers& message, const std::optional<CallKey>& key);

/// Whether calls on this communicator may be direct. To be asked before try_direct(). Takes a few
/// nanoseconds.
bool may_be_direct(const Communicator& state);

/// The outcome of try_repeat().
struct Repetition {
  bool is_known = false;
  std::optional<int> result = std::nullopt;  // empty: the library must carry it out, while `learning` lives
  std::shared_ptr<LearningCall> learning = nullptr;
};

/// Carries out a call if the same call was made before, and nothing has changed its choice since.
Repetition try_repeat(const CallKey& key, const void* input, void* output, MPI_Comm comm);

/// Whether a call with a predefined type may be one that was made before, or will be.
inline bool may_repeat(Form form, bool is_forced) {
  return session.may_repeat && form == Form::blocking && !is_forced;
}

}  // namespace stretto
