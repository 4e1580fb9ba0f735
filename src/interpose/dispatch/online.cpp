// SPDX-License-Identifier: Apache-2.0
#include "interpose/dispatch/online.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <sstream>
#include <utility>
#include <vector>

#include "interpose/dispatch/agreement.hpp"
#include "interpose/dispatch/background.hpp"
#include "interpose/dispatch/fabric_memory.hpp"
#include "interpose/dispatch/finding_text.hpp"
#include "interpose/learning/learners.hpp"
#include "interpose/session/session.hpp"
#include "learn/network/modelled.hpp"
#include "learn/races/standing.hpp"
#include "text/size.hpp"
#include "threads/clock.hpp"

namespace stretto {
namespace {

/// A call of this many bytes takes so long that the network is measured at once.
constexpr std::size_t least_bytes_of_probe = 64 * kibibyte;
/// So many shorter calls come first. Where ranks share cores, those of some libraries take ten times as long.
constexpr std::uint64_t short_calls_before_probe = 8;
constexpr std::uint64_t short_calls_on_shared_cores = 2;

struct Expected {
  std::vector<Finding> fastest;
  double least_seconds = 0;  // the time of a call that no spec can undercut; 0: unknown
  double saved_seconds = 0;  // the time by which a call is faster if links were idle before
};

constexpr double micro = 1e-6;

/// Returns the expectations of this network's model for a kind of calls. All ranks get those of rank 0. They
/// are empty if the network has not been measured and cannot be.
Expected expected_of(Communicator& state, const CallTraits& least, const Spec& spec, MPI_Comm comm) {
  const std::optional<MeasuredNetwork>& network = measured_network(state, least, spec, comm);
  // The model covers equal blocks only.
  if (!network || !may_be_kept(least)) return {};
  std::string text;
  if (state.rank() == 0) {
    const Question question = question_of(least, state.topology(), Form::blocking);
    const std::vector<Finding> fastest = find_fastest(question, network->machine);
    // Whole numbers: programs set locales, which write fractions in different ways.
    text = std::to_string(std::lround(least_seconds(question.call, network->machine) / micro)) + ' ' +
           std::to_string(std::lround(saved_seconds(network->machine) / micro)) + '\n';
    for (const Finding& finding : fastest) text += text_of(finding) + '\n';
  }
  if (!send_from_rank_0(text, comm)) return {};
  Expected all;
  std::istringstream lines(text);
  std::string line;
  std::getline(lines, line);
  all.least_seconds = micro * static_cast<double>(std::stol(line));
  all.saved_seconds = micro * static_cast<double>(std::stol(line.substr(line.find(' ') + 1)));
  while (std::getline(lines, line)) all.fastest.push_back(read_finding(line, least.collective, least.bytes));
  return all;
}

/// A kind of calls that has no learner on this communicator yet.
struct NewKind {
  Communicator& state;
  const CallTraits& traits;  // of its first call
  const Choice& choice;      // before anything is learned
  MPI_Comm comm;

  /// Returns what an earlier job, or another communicator of this job, has decided; nothing if none has.
  [[nodiscard]] std::optional<Finding> decided() const {
    if (!may_be_kept(traits)) return std::nullopt;
    return find_decided(known_fabric(state, traits, choice.spec, comm), traits, state.topology(),
                        Form::blocking);
  }
};

/// Returns how many times as long a call by the MPI library takes at least, if one by Stretto takes
/// `seconds`; 0: not known. The library's own short allreduce has shown it: where ranks share cores, and it
/// waits for messages without giving them away, that takes many times as long as its messages.
double least_gain(const Communicator& state, double seconds) {
  if (state.fabric() == nullptr || !state.fabric()->measured() || !(seconds > 0)) return 0;
  return state.fabric()->measured()->library_seconds / seconds;
}

/// Returns the learner of a kind of calls, for its first call. It costs messages to get findings, so each is
/// asked for only if no source before it has a spec.
KindLearner make_learner(const NewKind& kind) {
  Question question = question_of(kind.traits, kind.state.topology(), Form::blocking);
  question.table = kind.state.table_shape();
  std::optional<Finding> decided;
  if (decide(question).source > Source::table) decided = kind.decided();
  if (decided) question.learnt = &*decided;
  Expected expected;
  if (decide(question).source > Source::learnt)
    expected = expected_of(kind.state, shortest_of(kind.traits), kind.choice.spec, kind.comm);
  question.modelled = expected.fastest;
  const std::vector<Claim> claims = all_claims(question);
  const Claim standing = decide(question);
  KindLearner made{.learner = make_learner(claims)};
  made.learner.know_rank(kind.state.rank());
  if (standing.source == Source::learnt || standing.source == Source::model) made.known = standing.spec;
  if (standing.source == Source::learnt && kind.state.fabric() != nullptr) {
    if (const auto& network = kind.state.fabric()->measured())
      made.learner.expect_saved_in_row(saved_seconds(network->machine));
  }
  if (standing.source == Source::model) {
    made.learner.promise(expected.least_seconds, standing.bytes);
    made.learner.expect_saved(expected.saved_seconds);
    made.learner.expect_native(std::max(kind.state.learners().gain_of_similar(kind.traits),
                                        least_gain(kind.state, standing.seconds)));
  }
  return made;
}

/// Whether the call is short, and one of the first: a program that makes only a few such calls gains nothing
/// from measurements.
bool is_too_early(Communicator& state, const CallTraits& traits, const Spec& spec) {
  return session.settings.online == Online::guard && spec.is_pass_through() &&
         traits.bytes < least_bytes_of_probe &&
         state.learners().count_short_call() <=
             (session.some_share_cores ? short_calls_on_shared_cores : short_calls_before_probe);
}

/// A block of a shorter message takes longer to be sent than to pass the link.
constexpr std::size_t least_bytes_for_late = 512 * kibibyte;

/// Returns the spec that does as much as possible before a late rank comes.
Spec spec_for_late(const Topology& topology, int rank) {
  const bool is_alone = topology.max_ppn == 1;
  const std::string late = "pre_reduced_ring:late=" + std::to_string(is_alone ? rank : topology.node(rank));
  return parse_spec(Collective::allreduce, is_alone ? late : "multilane(" + late + ")");
}

/// If one rank comes late again and again, lets the spec for a late rank challenge. Its expected time comes
/// from the closed form. A call takes 2(p-1)/p of the time in which its bytes pass a link. With q = p-1, the
/// other ranks reduce in (q-1)/q of that time before the late one comes.
void try_for_late(Learner& learner, const Communicator& state, const CallTraits& traits) {
  const auto late = learner.take_late();
  const Topology& topology = state.topology();
  if (!late || traits.collective != Collective::allreduce || topology.nodes < 3) return;
  const Spec spec = spec_for_late(topology, late->rank);
  const bool fits = why_unsupported(spec, longest_of(traits), topology).empty();
  if (!fits || shortest_of(traits).bytes < least_bytes_for_late) return;
  const double nodes = topology.nodes;
  const double message = late->call_seconds * nodes / (2 * (nodes - 1));
  const double before = message * (nodes - 2) / (nodes - 1);
  const double seconds = std::max(late->seconds, before) + message;
  learner.challenge_for_late(spec, seconds / (late->call_seconds + late->seconds));
}

/// Begins to learn anew, because what was found out no longer holds.
void begin_anew(KindLearner& kind, Communicator& state, const CallTraits& traits, const Choice& choice,
                MPI_Comm comm) {
  state.learners().forget_races();
  KindLearner again = make_learner({.state = state, .traits = traits, .choice = choice, .comm = comm});
  again.learner.take_over_losses(kind.learner);
  kind = std::move(again);
}

/// Lets the ranks look at the links of the nodes, if that is due. If these are others than was known, other
/// specs are worth trying.
void look_at_links(KindLearner& kind, Communicator& state, const CallTraits& traits, const Choice& choice,
                   MPI_Comm comm) {
  begin_looks_at_links(state, comm);
  LinkEvidence* links = state.learners().links();
  if (links == nullptr || !links->is_due(traits.bytes)) return;
  std::vector<double> figures = links->figures().all();
  if (!agree_on_greatest(figures, state, traits, choice.spec)) return;
  if (!links->watch().look(LinkFigures(figures))) return;
  correct_links(state, links->watch().rates());
  begin_anew(kind, state, traits, choice, comm);
}

/// Agrees with the other ranks if that is due, and keeps the decision.
void agree_if_due(KindLearner& kind, Communicator& state, const CallTraits& traits, const Choice& choice,
                  MPI_Comm comm) {
  if (!kind.learner.wants_agreement()) return;
  const double began = seconds_now();
  std::vector<double> figures = kind.learner.figures();
  if (agree_on_greatest(figures, state, traits, choice.spec))
    kind.learner.agree(figures, seconds_now() - began);
  const bool has_changed = kind.learner.take_change();
  if (has_changed || kind.learner.take_broken_word()) {
    // On another network, other specs are worth trying.
    state.forget_fabric();
    state.learners().forget_links();
    if (state.rank() == 0 && has_changed) note_change();
    if (state.rank() == 0 && !has_changed) note_dropped(kind_of(traits, state.topology(), Form::blocking));
    begin_anew(kind, state, traits, choice, comm);
  }
  try_for_late(kind.learner, state, traits);
  const auto news = kind.learner.take_news();
  if (!news || !may_be_kept(traits) || state.rank() != 0) return;
  note_decision({.kind = kind_of(traits, state.topology(), Form::blocking),
                 .spec = news->spec,
                 .gain = news->gain,
                 .seconds = news->call_seconds,
                 .bytes = news->call_bytes,
                 .when = today()});
}

}  // namespace

std::shared_ptr<LearningCall> ask_learner(const std::shared_ptr<Communicator>& state,
                                          const CallTraits& traits, MPI_Comm comm, Choice& choice) {
  const NewKind fresh{.state = *state, .traits = traits, .choice = choice, .comm = comm};
  if (session.settings.online == Online::freeze) {
    if (choice.source == Source::table) return nullptr;
    Question question = question_of(traits, state->topology(), Form::blocking);
    const std::optional<Finding> decided = fresh.decided();
    if (decided) question.learnt = &*decided;
    const Claim claim = decide(question);
    choice = {.spec = *claim.spec, .source = claim.source};
    return nullptr;
  }
  const CallTraits shortest = shortest_of(traits);
  KindLearner* kind = state->learners().find(shortest);
  if (kind == nullptr) {
    if (is_too_early(*state, traits, choice.spec) && !fresh.decided()) {
      choice.source = Source::learnt;  // from the next calls on
      return nullptr;
    }
    kind = state->learners().add(shortest, [&] { return make_learner(fresh); });
  }
  if (kind == nullptr) {
    choice = {.spec = state->learners().decided_for_another_root(shortest), .source = Source::learnt};
    return nullptr;
  }
  look_at_links(*kind, *state, traits, choice, comm);
  agree_if_due(*kind, *state, traits, choice, comm);
  choice.source = Source::learnt;
  Learner& learner = kind->learner;
  const Spec* other = learner.begin(traits.bytes);
  if (other == nullptr && kind->known) other = &*kind->known;
  if (other != nullptr) choice.spec = *other;
  if (!learner.wants_time()) return nullptr;
  return std::make_shared<LearningCall>(state, [&learner](double seconds) { learner.end(seconds); });
}

std::shared_ptr<LearningCall> try_learning(const std::shared_ptr<Communicator>& state,
                                           const CallTraits& traits, const ProgramCall& program_call,
                                           MPI_Comm comm, Choice& choice) {
  if (program_call.form != Form::blocking || !traits.understood || traits.is_own || state->native_only())
    return nullptr;
  if (program_call.forced) return nullptr;
  agree_on_races(*state, traits, choice.spec, comm);
  if (has_private_lengths(traits.collective))
    return race_by_lengths(state, traits, program_call.private_bytes, choice);
  // A shorter call may not get here on all ranks: with different datatypes, some ranks pass it straight on.
  const bool is_compared = session.learns[static_cast<std::size_t>(traits.collective)] &&
                           traits.bytes >= state->floors().comparison_of(traits.collective);
  if (!is_compared) return race_short_call(state, traits, program_call, choice);
  if (session.program_forced(traits.collective) != nullptr) return nullptr;
  return ask_learner(state, traits, comm, choice);
}

std::optional<Spec> find_in_force(Communicator& state, const CallTraits& traits, const Choice& choice) {
  if (choice.source == Source::forced || choice.source == Source::none) return std::nullopt;
  if (may_race(state, traits, choice)) {
    const Race& race = state.learners().short_race(traits);
    return race.winner() == Race::Side::defender ? std::optional(Spec{}) : std::nullopt;
  }
  const KindLearner* kind = state.learners().find(shortest_of(traits));
  return kind == nullptr ? std::nullopt : std::optional(kind->learner.in_force());
}

void begin_online() {
  const Settings& settings = session.settings;
  if (settings.online == Online::off) return;
  const std::string_view other = why_nothing_is_learnt(learning_settings(settings));
  if (!other.empty()) {
    if (settings.online == Online::freeze)
      complain_once_on_rank_0("STRETTO_ONLINE has no effect with " + std::string(other));
    return;
  }
  session.races_lengths = settings.online == Online::guard;
  for (const Collective collective : collectives)
    session.learns[static_cast<std::size_t>(collective)] = !settings.forced_for(collective);
}

}  // namespace stretto
