// SPDX-License-Identifier: Apache-2.0
// What is learned from blocking calls (STRETTO_ONLINE): which call tries which spec, and what is in force.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "interpose/communicators/communicator.hpp"
#include "interpose/dispatch/choice.hpp"
#include "interpose/dispatch/program_call.hpp"
#include "interpose/session/call_traits.hpp"
#include "threads/clock.hpp"

namespace stretto {

/// Lives while a call is carried out from which something is learned.
class LearningCall {
 public:
  /// `state` owns what learns. `count` gets the call's seconds.
  LearningCall(std::shared_ptr<Communicator> state, std::function<void(double)> count)
      : state_(std::move(state)), count_(std::move(count)), began_(seconds_now()) {}
  LearningCall(const LearningCall&) = delete;
  LearningCall& operator=(const LearningCall&) = delete;
  ~LearningCall() { count_(seconds_now() - began_); }

 private:
  std::shared_ptr<Communicator> state_;
  std::function<void(double)> count_;
  double began_;
};

/// To be called before a blocking call, in the order of calls. Agrees with the other ranks where that is due,
/// and may replace the choice's spec by what was learnt, or by one to try. Returns nullptr if nothing is
/// learned from this call.
std::shared_ptr<LearningCall> try_learning(const std::shared_ptr<Communicator>& state,
                                           const CallTraits& traits, const ProgramCall& asked, MPI_Comm comm,
                                           Choice& choice);

/// The parts of that, each for calls of another kind. A learner (learn/races/learner.hpp) compares calls one
/// by one; calls inside a node that are too short for that have a race; so have those whose lengths only two
/// ranks know.
std::shared_ptr<LearningCall> ask_learner(const std::shared_ptr<Communicator>& state,
                                          const CallTraits& traits, MPI_Comm comm, Choice& choice);
std::shared_ptr<LearningCall> race_short_call(const std::shared_ptr<Communicator>& state,
                                              const CallTraits& traits, const ProgramCall& asked,
                                              MPI_Comm comm, Choice& choice);
std::shared_ptr<LearningCall> race_by_lengths(const std::shared_ptr<Communicator>& state,
                                              const CallTraits& traits, std::size_t private_bytes,
                                              MPI_Comm comm, Choice& choice);

/// Whether a call inside a node, or a barrier, is so short that it takes less time than finding out who is
/// faster.
bool is_short(const Communicator& state, const CallTraits& traits);

/// Whether a race decides about a call, if the choice is not `native`.
bool may_race(const Communicator& state, const CallTraits& traits, const Choice& choice);

/// For a call whose lengths only two ranks know. Whether nothing but the library is in force for it, and
/// nothing is learned from it: then it has been counted, and may go to the library. To be called in the order
/// of calls.
bool pass_to_library(Communicator& state, Collective collective);

/// Returns what is in force for blocking calls of this kind, as far as the calls before have decided it.
std::optional<Spec> find_in_force(Communicator& state, const CallTraits& traits, const Choice& choice);

/// Decides by the settings from which collectives the job learns.
void begin_online();

}  // namespace stretto
