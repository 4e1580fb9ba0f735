// SPDX-License-Identifier: Apache-2.0
#include "interpose/dispatch/background.hpp"

#include <climits>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "interpose/dispatch/agreement.hpp"
#include "interpose/dispatch/background_links.hpp"
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

/// Whether the call is compared at all, with the MPI library or with other specs. All ranks get the same
/// result.
bool may_be_compared(const CallTraits& traits, Form form, const Choice& choice) {
  return session.settings.online != Online::off && form != Form::blocking && !choice.spec.is_native() &&
         !session.settings.reproducible && !session.settings.check && traits.commutative &&
         !traits.calls_program && !traits.is_own;
}

/// Whether the call's choice must show that it is faster than the library.
bool is_guarded(const CallTraits& traits, const Choice& choice) {
  return mpi.has_library() && choice.source == Source::rule && !traits.blocks_in_segments &&
         has_measured_library(traits);
}

/// Whether the call's choice is compared with other specs, because there is no library.
bool has_challengers(const CallTraits& traits, Form form, const Choice& choice) {
  return !mpi.has_library() && session.settings.online == Online::guard && form == Form::non_blocking &&
         choice.source >= Source::learnt && may_be_kept(traits) && !traits.has_unequal_blocks &&
         !has_private_lengths(traits.collective) && traits.collective != Collective::barrier;
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
  const auto outcome = race->second.race->outcome();
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

/// Keeps the outcome of a race for later communicators and jobs. To be called on rank 0.
void note_outcome(const CallTraits& kind, const Topology& topology, const BackgroundRace::Outcome& outcome,
                  std::size_t bytes) {
  note_decision({.kind = kind_of(kind, topology, Form::non_blocking),
                 .spec = kept(outcome.spec),
                 .gain = outcome.gain,
                 .seconds = bytes > 0 ? outcome.seconds : 0,
                 .bytes = bytes,
                 .when = today()});
}

/// Takes a turn in the race of the choice with the library's own call.
RaceTurn take_turn_with_library(Communicator& state, const CallTraits& traits, Spec& spec) {
  const KindRace* const kind = state.learners().find_or_add_race(
      shortest_of(traits), [&] { return BackgroundRace::with_library(spec, measured_library()); });
  if (kind == nullptr) return {};
  BackgroundRace& race = *kind->race;
  const bool was_due = race.wants_agreement();
  const BackgroundRace::Turn turn = race.next();
  if (!was_due && race.wants_agreement()) state.learners().note_due_race();
  spec = *turn.spec;
  if (!turn.slot) return {};
  return {.race = kind->race, .slot = *turn.slot};
}

/// Returns the race of the choice with the next claims of the list; nullptr if there are none. Each must
/// serve all calls of the kind.
std::shared_ptr<BackgroundRace> make_race(const Communicator& state, const CallTraits& traits) {
  const KnownQuestion known(state, traits, Form::non_blocking);
  std::vector<Claim> claims = all_claims(known.question);
  const CallTraits longest = longest_of(traits);
  std::erase_if(claims, [&](const Claim& claim) {
    return !claim.spec || !why_unsupported(*claim.spec, longest, state.topology()).empty();
  });
  std::vector<Spec> challengers;
  for (const Candidate& one : challengers_of(claims, false)) challengers.push_back(one.spec);
  if (challengers.empty()) return nullptr;
  return BackgroundRace::without_library(*claims.front().spec, std::move(challengers),
                                         {.is_decided = claims.front().source == Source::learnt,
                                          .saved_seconds = state.modelled().saved_seconds});
}

}  // namespace

/// The agreement on the calls of a stage. Calls begin with an open choice until it is known.
class RaceAgreement final : public OpenChoice {
 public:
  RaceAgreement(const std::shared_ptr<Communicator>& state, const std::shared_ptr<const BackgroundRace>& race)
      : challenger_(std::make_shared<Challenger>(Challenger{.spec = race->challenger()})),
        // Judges once, for all calls whose spec is open. The race itself has not gone on yet, and it has the
        // stages of the trial.
        agreement_(
            state, race->figures(),
            [race, challenger = challenger_, trial = race->trial()](std::span<const double> agreed) mutable {
              challenger->wins = !BackgroundRace::are_unfinished(agreed) &&
                                 trial.agree(agreed) == Trial::Verdict::challenger;
            }) {}

  [[nodiscard]] bool is_known() const override { return agreement_.is_known(); }
  [[nodiscard]] const Spec* replacement() const override {
    return !agreement_.has_failed() && challenger_->wins ? &challenger_->spec : nullptr;
  }
  [[nodiscard]] std::size_t in_flight() const override {
    return Communicator::pipelining_of(challenger_->spec).in_flight();
  }
  [[nodiscard]] const BackgroundAgreement& agreement() const { return agreement_; }

 private:
  struct Challenger {
    Spec spec;
    bool wins = false;
  };
  std::shared_ptr<Challenger> challenger_;
  BackgroundAgreement agreement_;
};

namespace {

/// After the calls of a stage, so many more calls pass before the ranks agree: by then the measured ones have
/// ended. After that many again, the result usually has arrived.
constexpr int calls_before_agreement = 4;
constexpr int calls_during_agreement = 4;
/// For so many calls it may be open on some rank what was agreed on. A program that has so many calls of one
/// kind in flight waits for the agreement then.
constexpr int calls_while_open = 16;

/// Takes a turn in the race of the choice with other specs. Everything depends on the number of calls, so all
/// ranks do the same.
RaceTurn take_turn_without_library(const std::shared_ptr<Communicator>& state, const CallTraits& traits,
                                   Spec& spec) {
  KindRace* const kind =
      state->learners().find_or_add_race(shortest_of(traits), [&] { return make_race(*state, traits); });
  if (kind == nullptr || kind->race == nullptr) return {};
  BackgroundRace& race = *kind->race;
  if (race.wants_agreement()) {
    const int call = ++kind->calls - calls_before_agreement;
    if (call == 0) kind->agreement = std::make_shared<RaceAgreement>(state, kind->race);
    if (call < calls_during_agreement + calls_while_open) {
      spec = race.in_force();
      return {.open = call < calls_during_agreement ? nullptr : kind->agreement};
    }
    const BackgroundAgreement& agreement = kind->agreement->agreement();
    agreement.wait();
    if (!agreement.has_failed()) race.agree(agreement.figures());
    kind->agreement = nullptr;
    kind->calls = 0;
    if (race.is_resting() && race.outcome() && state->rank() == 0) {
      const CallTraits shortest = shortest_of(traits);
      note_outcome(shortest, state->topology(), *race.outcome(), shortest.bytes);
    }
  }
  const BackgroundRace::Turn turn = race.next();
  spec = *turn.spec;
  if (!turn.slot) return {};
  return {.race = kind->race, .slot = *turn.slot};
}

}  // namespace

RaceTurn take_turn(const std::shared_ptr<Communicator>& state, const CallTraits& traits, Form form,
                   Choice& choice) {
  if (!may_be_compared(traits, form, choice)) return {};
  if (has_challengers(traits, form, choice)) {
    RaceTurn turn = take_turn_without_library(state, traits, choice.spec);
    turn.open = choose_by_links(state, traits, choice.spec, std::move(turn.open));
    return turn;
  }
  if (!is_guarded(traits, choice)) return {};
  Spec& spec = choice.spec;
  if (form == Form::persistent) {
    spec = choose_persistent(*state, traits, spec);
    return {};
  }
  if (const std::optional<Spec> known = find_known(*state, traits, spec)) {
    spec = *known;
    return {};
  }
  if (session.settings.online == Online::freeze) return {};
  return take_turn_with_library(*state, traits, spec);
}

void agree_on_races(Communicator& state, const CallTraits& traits, const Spec& spec, MPI_Comm comm) {
  if (!state.learners().wants_agreement_on_races()) return;
  // If no blocking call has asked for the results of earlier jobs, this one does: non-blocking calls need
  // them, too.
  known_fabric(state, traits, spec, comm);
  std::vector<std::pair<CallTraits, std::shared_ptr<BackgroundRace>>> due;
  std::vector<double> figures;
  for (const auto& [kind, of_kind] : state.learners().races()) {
    if (!of_kind.race->wants_agreement()) continue;
    due.emplace_back(kind, of_kind.race);
    const std::vector<double> own = of_kind.race->figures();
    figures.insert(figures.end(), own.begin(), own.end());
  }
  if (!agree_on_greatest(figures, state, traits, spec)) return;
  std::span<const double> next = figures;
  for (const auto& [kind, race] : due) {
    const std::size_t calls = race->figures().size();
    race->agree(next.first(calls));
    next = next.subspan(calls);
    const auto outcome = race->outcome();
    if (!outcome) continue;
    state.learners().forget_due_race();
    if (state.rank() == 0 && may_be_kept(kind)) note_outcome(kind, state.topology(), *outcome, 0);
  }
}

}  // namespace stretto
