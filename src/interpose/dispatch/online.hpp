// SPDX-License-Identifier: Apache-2.0
// STRETTO_ONLINE: blocking calls try other specs, as learn/races/learner.hpp decides.
#pragma once

#include <memory>
#include <optional>

#include "interpose/communicators/communicator.hpp"
#include "interpose/dispatch/choice.hpp"
#include "interpose/session/call_traits.hpp"
#include "learn/races/learner.hpp"

namespace stretto {

/// To be called before a blocking call, in the order of calls. Agrees with the other ranks where that is due,
/// and may replace the spec by one to try. Returns nullptr if nothing is learned from this call.
Learner* consider(Communicator& state, const CallTraits& traits, MPI_Comm comm, Choice& choice);

/// Returns what is in force for blocking calls of this kind, as far as the calls before have decided it.
std::optional<Spec> find_in_force(Communicator& state, const CallTraits& traits, const Choice& choice);

/// Whether a call inside a node is so short that it takes less time than finding out who is faster.
bool is_short(const Communicator& state, const CallTraits& traits);

/// For a call that is too short for a learner: its race, nullptr if it has none. Agrees with the other ranks
/// where that is due. To be called in the order of calls.
ShortRace* find_short_race(Communicator& state, const CallTraits& traits, const Choice& choice,
                           MPI_Comm comm);

/// For a call whose lengths only two ranks know. Whether nothing but the library is in force for it, and
/// nothing is learned from it: then it has been counted, and may go to the library. To be called in the order
/// of calls.
bool pass_to_library(Communicator& state, Collective collective);

/// For another such call: its race, nullptr if it has none. Agrees with the other ranks where that is due,
/// and may replace the spec. To be called in the order of calls.
LengthRace* find_length_race(Communicator& state, const CallTraits& traits, MPI_Comm comm, Choice& choice);

/// Lives while a call is carried out from which something is learned.
class LearningCall {
 public:
  LearningCall(std::shared_ptr<Communicator> state, Learner& learner);
  LearningCall(std::shared_ptr<Communicator> state, ShortRace& race);
  LearningCall(std::shared_ptr<Communicator> state, LengthRace& race, std::size_t private_bytes);
  LearningCall(const LearningCall&) = delete;
  LearningCall& operator=(const LearningCall&) = delete;
  ~LearningCall();

 private:
  std::shared_ptr<Communicator> state_;  // owns the learner
  Learner* learner_ = nullptr;
  ShortRace* race_ = nullptr;
  LengthRace* length_race_ = nullptr;
  std::size_t private_bytes_ = 0;
  double began_;
};

/// Decides by the settings from which collectives the job learns.
void begin_online();

}  // namespace stretto
