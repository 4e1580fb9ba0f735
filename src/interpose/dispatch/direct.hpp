// SPDX-License-Identifier: Apache-2.0
// Blocking calls inside a node that go through shared memory alone, without an Operation
// (engine/direct_execution.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "interpose/communicators/communicator.hpp"
#include "interpose/dispatch/form.hpp"
#include "interpose/operations/message.hpp"
#include "interpose/session/call_traits.hpp"
#include "select/spec.hpp"

namespace stretto {

/// Carries a blocking call out by `spec`, whose channel is open. Empty if it needs an Operation: it has
/// several segments, messages that go by MPI, an operation of the program, buffers on a device, or an
/// observer.
std::optional<int> try_direct(Communicator& state, const CallTraits& traits, const Spec& spec,
                              Message& message, const std::optional<CallKey>& key);

/// To be called before a call is asked to be direct. Takes a few nanoseconds.
bool may_be_direct(const Communicator& state);

/// What becomes of a call that was made before.
struct Repetition {
  bool is_known = false;
  std::optional<int> result;  // empty: the library must carry it out
};

/// Carries out a call if it was made before, and nothing else can decide about it since.
Repetition try_repeat(Form& form, const CallKey& key, const void* input, void* output, MPI_Comm comm);

/// Whether a call may be one that was made before, or will be.
inline bool may_repeat(const Form& form, std::size_t predefined_size) {
  return session.may_repeat && predefined_size != 0 && form.face == Face::blocking && !form.forced;
}

}  // namespace stretto
