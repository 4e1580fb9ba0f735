// SPDX-License-Identifier: Apache-2.0
// STRETTO_CHECK=1: before a call is carried out, the ranks of its communicator compare their arguments.
// MPI does not define what a mismatch does (a wrong result, a hang, a crash). With this check, the job
// ends with one line that names the ranks and both values.
#pragma once

#include <memory>

#include "interpose/communicators/communicator.hpp"
#include "interpose/session/call_traits.hpp"

namespace stretto {

class Operation;

/// Compares a call across the ranks of its communicator. A blocking call waits for the comparison. For
/// others it runs in the background: the result is the operation that must end before the call may begin.
/// `spec` is the spec of the call, for the watchdog.
std::shared_ptr<Operation> compare(const std::shared_ptr<Communicator>& state, const CallTraits& traits,
                                   const Spec& spec, Face face);

}  // namespace stretto
