// SPDX-License-Identifier: Apache-2.0
// STRETTO_CHECK=1: before a call is carried out, the ranks of its communicator compare their arguments.
// MPI does not define what a mismatch does (a wrong result, a hang, a crash). With this check, the job
// ends with one line that names the ranks and both values.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <vector>

#include "engine/data/call.hpp"
#include "interpose/communicators/communicator.hpp"
#include "interpose/session/call_traits.hpp"

namespace stretto {

class Operation;

/// The bytes that a rank sends to each rank and expects from it, in a collective whose lengths only two ranks
/// know. If they are empty, nothing is compared.
struct PrivateLengths {
  std::vector<std::size_t> sent;
  std::vector<std::size_t> expected;

  static PrivateLengths of(Collective collective, const Call& call, int rank);
};

/// Returns the lengths of a call whose message make_message() returns.
template <typename MakeMessage>
PrivateLengths lengths_of(const CallTraits& traits, int rank, const MakeMessage& make_message) {
  if (!has_private_lengths(traits.collective) || !traits.understood) return {};
  try {
    return PrivateLengths::of(traits.collective, make_message().call, rank);
  } catch (const std::bad_alloc&) {
    return {};
  }
}

/// Compares a call across the ranks of its communicator. A blocking call waits for the comparison. For other
/// calls it runs in the background: the result is the operation that must end before the call may begin.
/// `spec` is the spec of the call, for the watchdog.
std::shared_ptr<Operation> compare(const std::shared_ptr<Communicator>& state, const CallTraits& traits,
                                   const PrivateLengths& lengths, const Spec& spec, Form form);

}  // namespace stretto
