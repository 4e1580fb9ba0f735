// SPDX-License-Identifier: Apache-2.0
// Races of blocking calls (learn/races/race.hpp) that are too short for a learner, or whose lengths only two
// ranks know.
#include <memory>
#include <vector>

#include "interpose/dispatch/agreement.hpp"
#include "interpose/dispatch/online.hpp"
#include "interpose/observe/statistics.hpp"
#include "interpose/session/session.hpp"
#include "learn/races/length_race.hpp"
#include "learn/races/race.hpp"
#include "select/rule.hpp"

namespace stretto {
namespace {

template <typename AnyRace>
void agree_if_due(AnyRace& race, Communicator& state, const CallTraits& traits, const Spec& spec) {
  if (!race.wants_agreement()) return;
  std::vector<double> figures = race.figures();
  if (agree_on_greatest(figures, state, traits, spec)) race.agree(figures);
}

/// Returns the spec that is worth a race for calls that usually move `usual_bytes` on a rank; `native` if
/// none is.
Spec propose_for_lengths(const Communicator& state, CallTraits traits, double usual_bytes) {
  traits.bytes = static_cast<std::size_t>(usual_bytes) / 2;  // each byte is counted as sent and as received
  const Spec spec =
      choose_for_lengths(shape_of(traits, state.topology(), Form::blocking, session.shares_memory));
  return why_unsupported(spec, traits, state.topology()).empty() ? spec : Spec{};
}

}  // namespace

bool is_short(const Communicator& state, const CallTraits& traits) {
  if (state.native_only()) return false;
  const bool may_be = state.topology().nodes == 1 || traits.collective == Collective::barrier;
  return may_be && traits.bytes < state.floors().comparison_of(traits.collective);
}

bool may_race(const Communicator& state, const CallTraits& traits, const Choice& choice) {
  const Settings& settings = session.settings;
  if (settings.online != Online::guard || settings.check || !is_short(state, traits)) return false;
  const bool keeps_bits = settings.reproducible && is_reduction(traits.collective);
  return !keeps_bits && choice.source == Source::rule;
}

std::shared_ptr<LearningCall> race_short_call(const std::shared_ptr<Communicator>& state,
                                              const CallTraits& traits, const ProgramCall& program_call,
                                              Choice& choice) {
  Spec& spec = choice.spec;
  if (spec.is_native()) return nullptr;
  Race* race = nullptr;
  if (may_race(*state, traits, choice)) {
    race = &state->learners().short_race(traits);
    agree_if_due(*race, *state, traits, spec);
    choice.source = Source::learnt;
  }
  // The handle of a program's operation may be that of another one later.
  const bool may_repeat = program_call.key && !is_program_operation(program_call.key->op) &&
                          session.program_forced(traits.collective) == nullptr;
  if (may_repeat && state->repeated_calls().find(*program_call.key) == nullptr) {
    state->repeated_calls().add({.key = *program_call.key,
                                 .traits = traits,
                                 .spec = spec,
                                 .race = race,
                                 .counter = &counter_of(traits.collective, traits.bytes, spec)});
  }
  if (race == nullptr) return nullptr;
  if (race->next() == Race::Side::defender) spec = {};
  if (race->quiet() == 0)
    return std::make_shared<LearningCall>(state, [race](double seconds) { race->count(seconds); });
  race->pass();
  return nullptr;
}

bool pass_to_library(Communicator& state, Collective collective) {
  if (session.due_races.load(std::memory_order_relaxed) != 0) return false;
  LengthRace& race = state.learners().length_race(collective);
  if (!race.is_quiet() || !race.next().is_pass_through()) return false;
  race.pass();
  return true;
}

std::shared_ptr<LearningCall> race_by_lengths(const std::shared_ptr<Communicator>& state,
                                              const CallTraits& traits, std::size_t private_bytes,
                                              Choice& choice) {
  if (!session.races_lengths || choice.source != Source::rule) return nullptr;
  LengthRace& race = state->learners().length_race(traits.collective);
  agree_if_due(race, *state, traits, choice.spec);
  if (race.wants_spec()) race.propose(propose_for_lengths(*state, traits, race.usual_bytes()));
  choice.spec = race.next();
  if (race.is_quiet()) {
    race.pass();
    return nullptr;
  }
  return std::make_shared<LearningCall>(state, [&race, private_bytes](double seconds) {
    race.count(static_cast<double>(private_bytes), seconds);
  });
}

}  // namespace stretto
