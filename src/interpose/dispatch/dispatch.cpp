// SPDX-License-Identifier: Apache-2.0
#include "interpose/dispatch/dispatch.hpp"

#include "interpose/observe/statistics.hpp"

namespace stretto {

namespace {

/// Whether a learner may have a part in a blocking call of the program.
bool is_long_enough(const Communicator& state, const CallTraits& traits) {
  // A shorter call may not get here on all ranks: with different datatypes, some ranks pass it straight
  // on.
  return traits.bytes >= session.online_floor(traits.collective) && !is_short(state, traits);
}

/// The same as try_learning() for a call that is too short for a learner. What is decided about it holds for
/// its repetitions.
std::shared_ptr<LearningCall> try_racing(const std::shared_ptr<Communicator>& state, const CallTraits& traits,
                                         const ProgramCall& asked, MPI_Comm comm, Choice& choice) {
  Spec& spec = choice.spec;
  if (spec.is_native()) return nullptr;
  ShortRace* race = find_short_race(*state, traits, choice, comm);
  // The handle of a program's operation may stand for another one later.
  const bool may_repeat = asked.key && !is_program_operation(asked.key->op) &&
                          session.program_forced(traits.collective) == nullptr;
  if (may_repeat && state->repeated_calls().find(*asked.key) == nullptr) {
    state->repeated_calls().add({.key = *asked.key,
                                 .traits = traits,
                                 .spec = spec,
                                 .race = race,
                                 .counter = &counter_of(traits.collective, traits.bytes, spec)});
  }
  if (race == nullptr) return nullptr;
  if (race->next() == ShortRace::Side::native) spec = {};
  if (!race->is_quiet()) return std::make_shared<LearningCall>(state, *race);
  race->pass();
  return nullptr;
}

/// The same for a call whose lengths only two ranks know.
std::shared_ptr<LearningCall> try_racing_lengths(const std::shared_ptr<Communicator>& state,
                                                 const CallTraits& traits, const ProgramCall& asked,
                                                 MPI_Comm comm, Choice& choice) {
  LengthRace* race = find_length_race(*state, traits, comm, choice);
  if (race == nullptr) return nullptr;
  if (!race->is_quiet()) return std::make_shared<LearningCall>(state, *race, asked.private_bytes);
  race->pass();
  return nullptr;
}

}  // namespace

bool is_too_young(Communicator& state, const CallTraits& traits, const ProgramCall& asked) {
  const bool reproducible = session.settings.reproducible && is_reduction(traits.collective);
  // Who makes a persistent call will start it often.
  const bool is_wanted = asked.form == Form::persistent || asked.forced || reproducible ||
                         session.observes_all_calls() || session.must_avoid_library(asked.form) ||
                         session.forced_for(traits.collective, traits.bytes);
  if (is_wanted) {
    state.come_of_age();
  } else if (has_private_lengths(traits.collective) ||
             traits.bytes >= session.native_floor(traits.collective, asked.form)) {
    // (A shorter call may not get here on all ranks: with different datatypes, some pass it straight on.)
    state.count_young_call(traits.bytes);
  }
  return state.is_young();
}

std::shared_ptr<LearningCall> try_learning(const std::shared_ptr<Communicator>& state,
                                           const CallTraits& traits, const ProgramCall& asked, MPI_Comm comm,
                                           Choice& choice) {
  if (asked.form != Form::blocking || !traits.understood || traits.is_own || state->native_only())
    return nullptr;
  if (asked.forced) return nullptr;
  agree_on_races(*state, traits, choice.spec, comm);
  if (has_private_lengths(traits.collective)) return try_racing_lengths(state, traits, asked, comm, choice);
  if (!is_long_enough(*state, traits)) return try_racing(state, traits, asked, comm, choice);
  if (session.program_forced(traits.collective) != nullptr) return nullptr;
  Learner* learner = consider(*state, traits, comm, choice);
  return learner == nullptr ? nullptr : std::make_shared<LearningCall>(state, *learner);
}

bool prepare(Communicator& state, const CallTraits& traits, const Spec& spec, Form form) {
  if (state.native_only()) return false;
  // The channel's number names the communicator in a trace.
  if (!session.settings.trace_folder.empty()) state.channel();
  if (spec.is_native()) return true;
  if (form == Form::blocking) return wait_for_channel(state, state.channel(), traits, spec);
  // A refusal must be known on all ranks in the same call: from then on they use the library's own
  // collectives. Refusals are rare. If one is possible, either all ranks know that or there is none.
  if (form == Form::non_blocking) {
    return !state.channel()->may_be_refused() || wait_for_channel(state, state.channel(), traits, spec);
  }
  // Making a persistent collective may wait for other ranks (MPI 4.1, section 6.13).
  const std::size_t tags = Communicator::pipelining_of(spec).in_flight();
  return wait_for_channel(state, state.channel_with_fresh(tags), traits, spec);
}

}  // namespace stretto
