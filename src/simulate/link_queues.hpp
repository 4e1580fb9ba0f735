// SPDX-License-Identifier: Apache-2.0
// Long messages from one node to another arrive one after the other, as on one connection or queue pair.
// SimGrid alone lets them share the link: segments that were sent together would arrive together, and be
// reduced or forwarded together while the link is idle.
#pragma once

#include <cstddef>
#include <simgrid/s4u.hpp>

namespace stretto::simulate {

/// Begins to queue messages. `at_once` is the number of messages that fill a link: as many from one node to
/// another move at once, since several ranks of a node may share the link. Call it once in a simulation,
/// before any message.
void queue_messages(std::size_t at_once);

/// Notes that a message starts. Call it while SimGrid asks for the message's factors.
void note_start(const simgrid::s4u::Host* from, const simgrid::s4u::Host* to, double bytes);

/// Lets messages that have started queue behind earlier ones. Call it whenever a send or a receive has been
/// posted.
void queue_started_messages();

}  // namespace stretto::simulate
