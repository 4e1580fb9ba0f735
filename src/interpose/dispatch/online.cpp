// SPDX-License-Identifier: Apache-2.0
#include "interpose/dispatch/online.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <sstream>
#include <utility>
#include <vector>

#include "interpose/dispatch/choice.hpp"
#include "interpose/dispatch/fabric_memory.hpp"
#include "interpose/learning/learners.hpp"
#include "interpose/operations/operation.hpp"
#include "interpose/progress/progress.hpp"
#include "interpose/session/session.hpp"
#include "learn/network/modelled.hpp"
#include "text/size.hpp"
#include "threads/clock.hpp"

namespace stretto {
namespace {

/// How many specs of the model are worth a duel.
constexpr std::size_t most_modelled = 6;
/// A call of so many bytes takes long enough for the network to be measured at once.
constexpr std::size_t least_bytes_of_probe = 64 * kibibyte;
constexpr std::uint64_t short_calls_before_probe = 8;

/// Makes figures the greatest of all ranks. Returns false after an error, which the program's handler has
/// got; the call that follows meets it as well.
///
/// All ranks get here in the same call, because a learner and a race depend only on the sequence of calls and
/// on what was agreed on. So the library's blocking allreduce on the program's communicator is in the same
/// order on all ranks: MPI requires that order for this call, and for everything that the program has
/// started on the communicator before. Meanwhile the helper thread advances what is outstanding, as in a
/// call that the library carries out.
template <typename Figures>
bool agree_on_greatest(Figures& figures, const Communicator& state, const CallTraits& traits,
                       const Spec& spec, MPI_Comm comm) {
  const AwaitedCall awaited(state, traits, spec);
  const BlockedScope elsewhere;
  return mpi.Allreduce(mpi.in_place, figures.data(), static_cast<int>(figures.size()), mpi.double_, mpi.max,
                       comm) == MPI_SUCCESS;
}

void agree(Learner& learner, const Communicator& state, const CallTraits& traits, const Spec& spec,
           MPI_Comm comm) {
  const double began = seconds_now();
  Learner::Figures figures = learner.figures();
  if (agree_on_greatest(figures, state, traits, spec, comm)) learner.agree(figures, seconds_now() - began);
}

/// What an earlier job, or another communicator of this one, has found; nullptr if nothing fits.
const Decision* find_decision(Communicator& state, const CallTraits& traits, const Spec& spec,
                              MPI_Comm comm) {
  if (!Learners::key_of(traits).may_be_kept()) return nullptr;
  const Decision* decision =
      known_fabric(state, traits, spec, comm).find(kind_of(traits, state.topology(), Form::blocking));
  if (decision == nullptr) return nullptr;
  // It must serve every call of the size class.
  return find_misfit(decision->spec, longest_of(traits), state.topology()).empty() ? decision : nullptr;
}

struct Expected {
  std::vector<Candidate> fastest;
  double least_seconds = 0;  // what no spec can undercut; 0: not known
};

/// What the model of this network expects of a kind of calls, the same on all ranks: rank 0 tells the others.
/// Empty if nothing is known of the network, and nothing can be.
Expected expected_of(Communicator& state, const CallTraits& least, const Spec& spec, MPI_Comm comm) {
  const std::optional<MeasuredNetwork>& network = measured_network(state, least, spec, comm);
  // The model knows equal blocks.
  if (!network || !Learners::key_of(least).may_be_kept()) return {};
  std::string text;
  if (state.rank() == 0) {
    const CallTraits longest = longest_of(least);
    const CallShape shape = shape_of(least, state.topology(), Form::blocking, session.shares_memory);
    const std::vector<Modelled> fastest =
        find_fastest(shape, state.topology(), network->machine, most_modelled,
                     [&](const Spec& one) { return find_misfit(one, longest, state.topology()).empty(); });
    // Whole numbers: programs set locales, which write fractions in different ways.
    text = std::to_string(std::lround(1e6 * least_seconds(shape, network->machine))) + '\n';
    for (const Modelled& one : fastest) {
      const long per_mille = std::lround(1000 * std::min(one.seconds / fastest.front().seconds, 1000.0));
      text += std::to_string(per_mille) + ' ' + to_string(one.spec) + '\n';
    }
  }
  if (!send_from_rank_0(text, comm)) return {};
  Expected all;
  std::istringstream lines(text);
  std::string line;
  std::getline(lines, line);
  all.least_seconds = static_cast<double>(std::stol(line)) / 1e6;
  while (std::getline(lines, line)) {
    const std::size_t space = line.find(' ');
    all.fastest.push_back({.spec = parse_spec(least.collective, line.substr(space + 1)),
                           .expected = static_cast<double>(std::stol(line.substr(0, space))) / 1000});
  }
  return all;
}

/// What decides about a kind of calls, from its first call on this communicator.
KindLearner make_learner(Communicator& state, const CallTraits& traits, const Choice& choice, MPI_Comm comm) {
  const Spec& spec = choice.spec;
  CallTraits least = traits;
  least.bytes = std::bit_floor(traits.bytes);
  const Candidate native{};
  // A table is what the user wants.
  const bool tuned = choice.source == Source::table;
  const Decision* decision = tuned ? nullptr : find_decision(state, traits, spec, comm);
  if (decision == nullptr) {
    Expected expected;
    if (!tuned) expected = expected_of(state, least, spec, comm);
    std::vector<Candidate>& modelled = expected.fastest;
    if (modelled.empty()) {
      const auto known = tuned ? Learner::Standing::proven : Learner::Standing::presumed;
      return {.learner = Learner(spec, known, {native})};
    }
    const Spec best = modelled.front().spec;
    // The model may name `native`, too.
    std::erase_if(modelled,
                  [&](const Candidate& one) { return one.spec == best || one.spec == native.spec; });
    modelled.insert(modelled.begin(), native);
    KindLearner kind{.learner = Learner(best, Learner::Standing::modelled, modelled), .known = best};
    kind.learner.promise(expected.least_seconds, least.bytes);
    return kind;
  }
  std::vector<Candidate> others{native};
  if (!spec.is_pass_through() && !(spec == decision->spec)) others.push_back({.spec = spec});
  KindLearner kind{.learner = Learner(decision->spec, Learner::Standing::decided, others),
                   .known = decision->spec};
  kind.learner.expect(decision->seconds, decision->bytes);
  return kind;
}

/// Uses what earlier jobs have found.
void use_what_is_known(Communicator& state, const CallTraits& traits, MPI_Comm comm, Choice& choice) {
  if (choice.source == Source::table) return;
  const Decision* decision = find_decision(state, traits, choice.spec, comm);
  if (decision != nullptr) choice.spec = decision->spec;
}

/// Whether the call is short, and one of the first: a program that makes only a few of these gains nothing
/// from measurements.
bool is_too_early(Communicator& state, const CallTraits& traits, const Spec& spec) {
  return session.settings.online == Online::guard && spec.is_pass_through() &&
         traits.bytes < least_bytes_of_probe &&
         state.learners().count_short_call() <= short_calls_before_probe;
}

/// Whether a race decides about a call, if the choice is not `native`.
bool may_race(const Communicator& state, const CallTraits& traits, const Choice& choice) {
  const Settings& settings = session.settings;
  if (settings.online != Online::guard || settings.check || !is_short(state, traits)) return false;
  const bool keeps_bits = settings.reproducible && is_reduction(traits.collective);
  return !keeps_bits && choice.source == Source::rule;
}

/// What is worth a race for calls that usually move so many bytes on a rank; `native` if nothing is.
Spec propose_for_lengths(const Communicator& state, CallTraits traits, double usual_bytes) {
  traits.bytes = static_cast<std::size_t>(usual_bytes) / 2;  // what is sent is also received
  const Spec spec =
      choose_for_lengths(shape_of(traits, state.topology(), Form::blocking, session.shares_memory));
  return find_misfit(spec, traits, state.topology()).empty() ? spec : Spec{};
}

/// Agrees with the other ranks where that is due, and keeps what was decided.
void agree_if_due(KindLearner& kind, Communicator& state, const CallTraits& traits, const Choice& choice,
                  MPI_Comm comm) {
  if (!kind.learner.wants_agreement()) return;
  agree(kind.learner, state, traits, choice.spec, comm);
  if (kind.learner.take_change()) {
    // On another network, other specs are worth trying.
    state.forget_fabric();
    state.learners().forget_races();
    KindLearner again = make_learner(state, traits, choice, comm);
    again.learner.take_over_losses(kind.learner);
    kind = std::move(again);
  }
  const auto news = kind.learner.take_news();
  if (!news || !Learners::key_of(traits).may_be_kept() || state.rank() != 0) return;
  note_decision({.kind = kind_of(traits, state.topology(), Form::blocking),
                 .spec = news->spec,
                 .gain = news->gain,
                 .seconds = news->call_seconds,
                 .bytes = news->call_bytes,
                 .when = today()});
}

}  // namespace

Learner* consider(Communicator& state, const CallTraits& traits, MPI_Comm comm, Choice& choice) {
  Spec& spec = choice.spec;
  if (session.settings.online == Online::freeze) {
    use_what_is_known(state, traits, comm, choice);
    return nullptr;
  }
  const Learners::Key key = Learners::key_of(traits);
  KindLearner* kind = state.learners().find(key);
  if (kind == nullptr) {
    if (is_too_early(state, traits, spec) && find_decision(state, traits, spec, comm) == nullptr)
      return nullptr;
    kind = state.learners().add(key, [&] { return make_learner(state, traits, choice, comm); });
  }
  if (kind == nullptr) {
    spec = state.learners().decided_for_another_root(key);
    return nullptr;
  }
  agree_if_due(*kind, state, traits, choice, comm);
  Learner& learner = kind->learner;
  const Spec* other = learner.begin(traits.bytes);
  if (other == nullptr && kind->known) other = &*kind->known;
  if (other != nullptr) spec = *other;
  return learner.wants_time() ? &learner : nullptr;
}

std::optional<Spec> find_in_force(Communicator& state, const CallTraits& traits, const Choice& choice) {
  if (choice.source == Source::user || choice.source == Source::none) return std::nullopt;
  if (may_race(state, traits, choice)) {
    const ShortRace& race = state.learners().short_race(traits);
    return race.winner() == ShortRace::Side::native ? std::optional(Spec{}) : std::nullopt;
  }
  const KindLearner* kind = state.learners().find(Learners::key_of(traits));
  return kind == nullptr ? std::nullopt : std::optional(kind->learner.in_force());
}

bool is_short(const Communicator& state, const CallTraits& traits) {
  if (state.native_only()) return false;
  if (traits.collective == Collective::barrier) return true;
  if (state.topology().nodes != 1) return false;
  std::size_t floor = session.learning_floor_inside_node(traits.collective);
  // Ranks that know the communicator pass shorter calls of these straight on (is_small), and others do not.
  if (is_reduction(traits.collective) || traits.collective == Collective::bcast)
    floor = std::max(floor,
                     session.floor_inside_node(traits.collective, Form::blocking, state.topology().ranks()));
  return traits.bytes < floor;
}

ShortRace* find_short_race(Communicator& state, const CallTraits& traits, const Choice& choice,
                           MPI_Comm comm) {
  if (!may_race(state, traits, choice)) return nullptr;
  ShortRace& race = state.learners().short_race(traits);
  if (race.wants_agreement()) {
    ShortRace::Figures figures = race.figures();
    if (agree_on_greatest(figures, state, traits, choice.spec, comm)) race.agree(figures);
  }
  return &race;
}

bool pass_to_library(Communicator& state, Collective collective) {
  if (session.due_races.load(std::memory_order_relaxed) != 0) return false;
  LengthRace& race = state.learners().length_race(collective);
  if (!race.is_quiet() || !race.winner().is_pass_through()) return false;
  race.pass();
  return true;
}

LengthRace* find_length_race(Communicator& state, const CallTraits& traits, MPI_Comm comm, Choice& choice) {
  if (!session.races_lengths || choice.source != Source::rule) return nullptr;
  LengthRace& race = state.learners().length_race(traits.collective);
  if (race.wants_agreement()) {
    LengthRace::Figures figures = race.figures();
    if (!agree_on_greatest(figures, state, traits, choice.spec, comm)) return nullptr;
    race.agree(figures);
    if (race.wants_spec()) race.propose(propose_for_lengths(state, traits, race.usual_bytes()));
  }
  choice.spec = race.next();
  return &race;
}

LearningCall::LearningCall(std::shared_ptr<Communicator> state, Learner& learner)
    : state_(std::move(state)), learner_(&learner), began_(seconds_now()) {}

LearningCall::LearningCall(std::shared_ptr<Communicator> state, ShortRace& race)
    : state_(std::move(state)), race_(&race), began_(seconds_now()) {}

LearningCall::LearningCall(std::shared_ptr<Communicator> state, LengthRace& race, std::size_t private_bytes)
    : state_(std::move(state)), length_race_(&race), private_bytes_(private_bytes), began_(seconds_now()) {}

LearningCall::~LearningCall() {
  const double seconds = seconds_now() - began_;
  if (learner_ != nullptr) learner_->end(seconds);
  if (race_ != nullptr) race_->count(seconds);
  if (length_race_ != nullptr) length_race_->count(static_cast<double>(private_bytes_), seconds);
}

void begin_online() {
  const Settings& settings = session.settings;
  session.online_floors.fill(SIZE_MAX);
  if (settings.online == Online::off) return;
  if (settings.reproducible || settings.check) {
    if (settings.online == Online::guard) return;
    complain_once_on_rank_0("STRETTO_ONLINE has no effect with " +
                            std::string(settings.check ? "STRETTO_CHECK" : "STRETTO_REPRODUCIBLE"));
    return;
  }
  session.races_lengths = settings.online == Online::guard;
  for (const Collective collective : collectives) {
    if (settings.forced_for(collective)) continue;
    session.online_floors[static_cast<std::size_t>(collective)] = std::min(
        session.learning_floor_inside_node(collective),
        session.topology.nodes > 1 ? session.floor_between_nodes(collective, Form::blocking) : SIZE_MAX);
  }
}

}  // namespace stretto
