// SPDX-License-Identifier: Apache-2.0
#include "interpose/dispatch/background.hpp"

#include <climits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "interpose/dispatch/agreement.hpp"
#include "interpose/dispatch/fabric_memory.hpp"
#include "interpose/session/session.hpp"

namespace stretto {
namespace {

/// Returns the spec of the MPI library's own call as an operation of Stretto, which is measured like the
/// others.
Spec measured_library() {
  Spec spec;
  spec.pipelining.segments = 1;
  return spec;
}

/// Returns the spec that a race keeps for later jobs: the library's own call is simply `native`.
Spec kept(const Spec& spec) {
  return spec == measured_library() ? Spec{} : spec;
}

/// Whether the library's own call can be an operation (NativeExecution). It must have equal blocks. An
/// all-to-all, which is not cut, may have at most INT_MAX bytes.
bool has_measured_library(const CallTraits& traits) {
  return !traits.has_unequal_blocks && (traits.collective != Collective::alltoall || traits.bytes <= INT_MAX);
}

/// Whether the call's choice must show that it is faster than the library. All ranks get the same result.
bool is_guarded(const CallTraits& traits, Form form, const Choice& choice) {
  return session.settings.online != Online::off && form != Form::blocking && choice.source == Source::rule &&
         !choice.spec.is_native() && mpi.has_library() && !session.settings.reproducible &&
         !session.settings.check && traits.commutative && !traits.calls_program && !traits.is_own &&
         !traits.blocks_in_segments && has_measured_library(traits);
}

/// Returns the spec that is known to be fastest for these calls, if there is one. It comes from earlier jobs,
/// if the ranks have asked for their results in a blocking call, or from this job. Earlier jobs say who is
/// faster, the library or `choice`. How a call is cut into segments is not taken from them: nothing would
/// show that it takes too long.
std::optional<Spec> find_known(Communicator& state, const CallTraits& traits, const Spec& choice) {
  if (state.fabric() != nullptr && may_be_kept(traits)) {
    const Decision* known = state.fabric()->find(kind_of(traits, state.topology(), Form::non_blocking));
    if (known != nullptr && known->spec.is_pass_through()) return known->spec;
    if (known != nullptr && known->spec.recipe == choice.recipe) return choice;
  }
  const auto race = state.learners().races().find(shortest_of(traits));
  if (race == state.learners().races().end()) return std::nullopt;
  const auto outcome = race->second->outcome();
  return outcome ? std::optional(outcome->spec) : std::nullopt;
}

/// Returns the spec of a persistent call. Libraries carry out persistent calls like non-blocking ones, so the
/// results of non-blocking calls hold for them. Persistent calls are too few to be compared themselves.
Spec choose_persistent(Communicator& state, const CallTraits& traits, const Spec& spec) {
  const std::optional<Spec> known = find_known(state, traits, spec);
  if (!known) return spec;
  const Spec found = kept(*known);
  return found.is_native() && session.must_avoid_library(Form::persistent) ? spec : found;
}

}  // namespace

RaceTurn take_turn(Communicator& state, const CallTraits& traits, Form form, Choice& choice) {
  if (!is_guarded(traits, form, choice)) return {};
  Spec& spec = choice.spec;
  if (form == Form::persistent) {
    spec = choose_persistent(state, traits, spec);
    return {};
  }
  if (const std::optional<Spec> known = find_known(state, traits, spec)) {
    spec = *known;
    return {};
  }
  if (session.settings.online == Online::freeze) return {};
  const std::shared_ptr<BackgroundRace> race = state.learners().find_or_add_race(
      shortest_of(traits), [&] { return std::make_shared<BackgroundRace>(spec, measured_library()); });
  if (race == nullptr) return {};
  const bool was_due = race->wants_agreement();
  const BackgroundRace::Turn turn = race->next();
  if (!was_due && race->wants_agreement()) state.learners().note_due_race();
  spec = *turn.spec;
  if (!turn.slot) return {};
  return {race, *turn.slot};
}

void agree_on_races(Communicator& state, const CallTraits& traits, const Spec& spec, MPI_Comm comm) {
  if (!state.learners().wants_agreement_on_races()) return;
  // If no blocking call has asked for the results of earlier jobs, this one does: non-blocking calls need
  // them, too.
  known_fabric(state, traits, spec, comm);
  std::vector<std::pair<CallTraits, std::shared_ptr<BackgroundRace>>> due;
  std::vector<double> figures;
  for (const auto& [kind, race] : state.learners().races()) {
    if (!race->wants_agreement()) continue;
    due.emplace_back(kind, race);
    const std::vector<double> own = race->figures();
    figures.insert(figures.end(), own.begin(), own.end());
  }
  if (!agree_on_greatest(figures, state, traits, spec, comm)) return;
  std::span<const double> next = figures;
  for (const auto& [kind, race] : due) {
    race->agree(next.first(BackgroundRace::measured_calls));
    next = next.subspan(BackgroundRace::measured_calls);
    const auto outcome = race->outcome();
    if (!outcome) continue;
    state.learners().forget_due_race();
    if (state.rank() != 0 || !may_be_kept(kind)) continue;
    note_decision({.kind = kind_of(kind, state.topology(), Form::non_blocking),
                   .spec = kept(outcome->spec),
                   .gain = outcome->gain,
                   .seconds = 0,
                   .bytes = 0,
                   .when = today()});
  }
}

}  // namespace stretto
