// SPDX-License-Identifier: Apache-2.0
// Long messages from one node to another arrive one after the other, as on one connection or queue pair.
// SimGrid by itself lets them share the link: segments that were sent together would arrive together, and be
// reduced or passed on together while the link has nothing to do.
#pragma once

#include <cstddef>
#include <simgrid/s4u.hpp>

namespace stretto::simulate {

/// `at_once`: how many messages it takes to fill a link. So many from one node to another move at once, since
/// several ranks of a node may share it. To be called once in a simulation, before any message.
void keep_order(std::size_t at_once);

/// A message sets out: to be called while SimGrid asks for its factors.
void note_message(const simgrid::s4u::Host* from, const simgrid::s4u::Host* to, double bytes);

/// Messages that have set out take their places behind those before them: to be called after each end of a
/// message that is posted.
void take_places();

}  // namespace stretto::simulate
