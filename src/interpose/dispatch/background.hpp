// SPDX-License-Identifier: Apache-2.0
// The guard of non-blocking calls: the choice shows that it is faster than the library, as
// learn/races/background_race.hpp says.
#pragma once

#include <cstddef>
#include <memory>

#include "interpose/communicators/communicator.hpp"
#include "interpose/dispatch/choice.hpp"
#include "interpose/session/call_traits.hpp"
#include "learn/races/background_race.hpp"

namespace stretto {

/// A measurement in which a call takes part; none if `race` is empty.
struct RaceTurn {
  std::shared_ptr<BackgroundRace> race = nullptr;
  std::size_t slot = 0;
};

/// To be called before a non-blocking or persistent call, in the order of calls. May replace the spec. Waits
/// for nobody.
RaceTurn take_turn(Communicator& state, const CallTraits& traits, Form form, Choice& choice);

/// To be called in a blocking call, in the order of calls: the ranks agree on what was measured, if that is
/// due.
void agree_on_races(Communicator& state, const CallTraits& traits, const Spec& spec, MPI_Comm comm);

}  // namespace stretto
