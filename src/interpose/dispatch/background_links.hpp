// SPDX-License-Identifier: Apache-2.0
// Looks at the links of the nodes in jobs without MPI (learn/network/links.hpp). No call waits: the ranks
// agree in the background.
#pragma once

#include <memory>

#include "interpose/communicators/communicator.hpp"
#include "interpose/operations/operation.hpp"
#include "interpose/session/call_traits.hpp"
#include "select/spec.hpp"

namespace stretto {

/// Lets the ranks look at the links if that is due. Returns a choice that replaces `spec` if calls have shown
/// that the links are others than was known when `spec` was chosen; else `open`, which may replace it, too.
/// To be called before a non-blocking call, in the order of calls.
std::shared_ptr<const OpenChoice> choose_by_links(const std::shared_ptr<Communicator>& state,
                                                  const CallTraits& traits, const Spec& spec,
                                                  std::shared_ptr<const OpenChoice> open);

}  // namespace stretto
