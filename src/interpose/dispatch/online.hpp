// SPDX-License-Identifier: Apache-2.0
// Learning from blocking calls (STRETTO_ONLINE): which call tries which spec, and which spec is in force.
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

/// Times a call from which something is learned. Lives while the call is carried out.
class LearningCall {
 public:
  /// `state` owns the learner or race. `count` gets the call's seconds.
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

/// To be called before a blocking call, in the order of calls. Agrees with the other ranks if that is due,
/// and may replace the choice's spec by a learned one, or by one to try. Returns nullptr if nothing is
/// learned from this call.
std::shared_ptr<LearningCall> try_learning(const std::shared_ptr<Communicator>& state,
                                           const CallTraits& traits, const ProgramCall& program_call,
                                           MPI_Comm comm, Choice& choice);

/// These functions are the parts of try_learning(), for calls of different sorts. A learner
/// (learn/races/learner.hpp) compares calls one by one. Calls inside a node that are too short for that have
/// a race. Calls whose lengths only two ranks know have a race as well.
std::shared_ptr<LearningCall> ask_learner(const std::shared_ptr<Communicator>& state,
                                          const CallTraits& traits, MPI_Comm comm, Choice& choice);
std::shared_ptr<LearningCall> race_short_call(const std::shared_ptr<Communicator>& state,
                                              const CallTraits& traits, const ProgramCall& program_call,
                                              Choice& choice);
std::shared_ptr<LearningCall> race_by_lengths(const std::shared_ptr<Communicator>& state,
                                              const CallTraits& traits, std::size_t private_bytes,
                                              Choice& choice);

/// Whether a call inside a node, or a barrier, is so short that it takes less time than finding out who is
/// faster.
bool is_short(const Communicator& state, const CallTraits& traits);

/// Whether a race decides about a call, if the choice is not `native`.
bool may_race(const Communicator& state, const CallTraits& traits, const Choice& choice);

/// Returns whether a call whose lengths only two ranks know may go to the MPI library: the library is in
/// force for it, and nothing is learned from it. If so, the call has been counted. To be called in the order
/// of calls.
bool pass_to_library(Communicator& state, Collective collective);

/// Returns the spec in force for blocking calls of this kind, if the calls before have decided it.
std::optional<Spec> find_in_force(Communicator& state, const CallTraits& traits, const Choice& choice);

/// Decides by the settings from which collectives the job learns.
void begin_online();

}  // namespace stretto
