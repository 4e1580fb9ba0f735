// SPDX-License-Identifier: Apache-2.0
// The guard of non-blocking calls: the choice must show that it is faster than the MPI library.
// learn/races/background_race.hpp describes how.
#pragma once

#include <cstddef>
#include <memory>

#include "interpose/communicators/communicator.hpp"
#include "interpose/dispatch/choice.hpp"
#include "interpose/operations/operation.hpp"
#include "interpose/session/call_traits.hpp"
#include "learn/races/background_race.hpp"

namespace stretto {

/// A measurement in which a call takes part; none if `race` is empty.
struct RaceTurn {
  std::shared_ptr<BackgroundRace> race = nullptr;
  BackgroundRace::Slot slot = {};
  /// Set if the ranks may have agreed on another spec (without an MPI library).
  std::shared_ptr<const OpenChoice> open = nullptr;
};

/// Returns the measurement in which a non-blocking or persistent call takes part. May replace the spec. To be
/// called before the call, in the order of calls. Does not wait for other ranks.
RaceTurn take_turn(const std::shared_ptr<Communicator>& state, const CallTraits& traits, Form form,
                   Choice& choice);

/// Makes the ranks agree on their measurements, if that is due. To be called in a blocking call, in the order
/// of calls.
void agree_on_races(Communicator& state, const CallTraits& traits, const Spec& spec, MPI_Comm comm);

}  // namespace stretto
