// SPDX-License-Identifier: Apache-2.0
#include "learn/network/modelled.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>

#include "algorithms/short_list.hpp"
#include "learn/network/probe_sizes.hpp"
#include "model/estimate.hpp"
#include "model/predictor.hpp"
#include "text/size.hpp"

namespace stretto {
namespace {

/// The lengths of messages, in bytes, into which a pipelined spec may cut: those that MPI libraries send
/// eagerly, and those that fast links need.
constexpr std::array<std::size_t, 5> message_sizes{8 * kibibyte, 16 * kibibyte, 32 * kibibyte, 128 * kibibyte,
                                                   512 * kibibyte};

/// Shorter messages fill links equally well, but each takes processor time, which the model does not know.
/// Without an MPI library, over sockets, longer ones need not wait for an answer either.
constexpr std::size_t least_message_of_sockets = 64 * kibibyte;

bool goes_by_links(const Recipe& recipe) {
  return !recipe.links.empty() || std::ranges::any_of(recipe.parts, goes_by_links);
}

/// Whether a spec cuts calls into messages that are too short for sockets. Links whose rates differ are slow
/// ones, where messages of any length leave the processor time enough.
bool is_cut_small(const Spec& spec, const Topology& topology) {
  const std::size_t segment = spec.pipelining.segment_bytes;
  if (segment == 0 || goes_by_links(spec.recipe)) return false;
  const Schedule schedule = build(spec.recipe, topology, 0, 0);
  return segment < least_message_of_sockets * static_cast<std::size_t>(schedule.blocks());
}

/// Returns the length below which messages are not worth trying. Inside a node each message has a cost that
/// streams of tiny ones do not show. Between nodes a chain needs short messages, because they fill it sooner.
/// So do the halves of an allreduce that goes by links, because a slow link carries both at once.
std::size_t least_message(const CallShape& shape, const Recipe& recipe) {
  if (shape.nodes == 1) return 32 * kibibyte;
  return has_root(shape.collective) || goes_by_links(recipe) ? 8 * kibibyte : 16 * kibibyte;
}

/// Returns the recipe that goes by the links of these nodes, which the registry cannot list.
std::optional<ShortListed> find_recipe_of_links(Collective collective, const Topology& topology,
                                                const std::vector<double>& rates) {
  if (collective != Collective::allreduce || rates.empty()) return std::nullopt;
  if (rates.size() != static_cast<std::size_t>(topology.nodes)) return std::nullopt;
  Recipe across = usual_recipe(*find_algorithm(Collective::allreduce, "weighted"));
  const double fastest = std::ranges::max(rates);
  for (const double rate : rates) {
    const auto percent = static_cast<int>(std::lround(whole_link * rate / fastest));
    across.links.push_back(std::max(percent, 1));
  }
  if (topology.max_ppn == 1)
    return ShortListed{.recipe = std::move(across), .long_messages = true, .segment_bytes = {}};
  Recipe lanes = usual_recipe(*find_algorithm(Collective::allreduce, "multilane"));
  lanes.parts[0] = std::move(across);
  return ShortListed{
      .recipe = std::move(lanes), .long_messages = true, .needs_shared_nodes = true, .segment_bytes = {}};
}

/// Going by the links must take less than this multiple of the time that equal shares take.
constexpr double worth_going_by_links = 0.9;
/// The length of its messages. Slow links leave the cores time for short ones, and several longer ones that
/// meet at a slow link overflow its queue, which the model does not know.
constexpr std::size_t message_by_links = 8 * kibibyte;

/// More than this many segments cost more time to estimate than they gain.
constexpr std::size_t most_segments = 4096;

/// Larger plans take too long in a running job. Their time is extrapolated from two smaller numbers of nodes.
constexpr std::size_t most_steps = 20'000;
constexpr int fewest_nodes = 8;

/// Estimates calls by one recipe on one topology.
class Estimator {
 public:
  Estimator(Recipe recipe, const Topology& topology, const CallShape& shape, const Machine& machine)
      : recipe_(std::move(recipe)), topology_(topology), shape_(shape), machine_(machine) {
    const Schedule of_root = build(recipe_, topology, 0, 0);
    blocks_ = static_cast<std::size_t>(of_root.blocks());
    messages_ =
        goes_by_links(recipe_) ? static_cast<std::size_t>(topology.nodes * topology.min_ppn) : blocks_;
    steps_ = of_root.actions().size() * static_cast<std::size_t>(topology.ranks());
    if (steps_ <= most_steps) plan_.emplace(recipe_, topology, 0);
  }

  /// The number of messages into which the schedule cuts a segment.
  [[nodiscard]] std::size_t messages() const { return messages_; }

  /// Returns nothing if the time cannot be estimated.
  std::optional<double> seconds(const Pipelining& pipelining) {
    const WalkedCall call{.collective = shape_.collective, .bytes = shape_.bytes, .pipelining = pipelining};
    if (plan_) return estimate_seconds(*plan_, call, machine_);
    if (topology_.min_ppn != topology_.max_ppn || !topology_.contiguous || topology_.nodes < 4 * fewest_nodes)
      return std::nullopt;
    find_smaller();
    const double few = seconds_on(*smaller_, call);
    const double more = seconds_on(*larger_, call);
    const auto nodes = static_cast<double>(topology_.nodes);
    return few + (more - few) * (nodes - fewest_nodes) / fewest_nodes;
  }

 private:
  struct Smaller {
    Topology topology;
    Plan plan;
    Smaller(const Recipe& recipe, int nodes, int ppn)
        : topology(uniform(nodes, ppn)), plan(recipe, topology, 0) {}
  };
  void find_smaller() {
    if (smaller_) return;
    smaller_ = std::make_unique<Smaller>(recipe_, fewest_nodes, topology_.max_ppn);
    larger_ = std::make_unique<Smaller>(recipe_, 2 * fewest_nodes, topology_.max_ppn);
  }
  /// Shortens the message with the number of nodes if there are as many blocks, so that these keep their
  /// length.
  double seconds_on(const Smaller& smaller, WalkedCall call) const {
    const auto nodes = static_cast<std::size_t>(topology_.nodes);
    if (blocks_ >= nodes) {
      const std::size_t segments = call.segments();
      const auto fewer = static_cast<std::size_t>(smaller.topology.nodes);
      call.bytes = std::max(call.bytes / nodes * fewer, call.element_bytes);
      call.pipelining.segments = static_cast<int>(segments);
      call.pipelining.segment_bytes = 0;
    }
    return estimate_seconds(smaller.plan, call, machine_);
  }

  Recipe recipe_;
  const Topology& topology_;
  const CallShape& shape_;
  const Machine& machine_;
  std::size_t blocks_ = 1;
  std::size_t messages_ = 1;
  std::size_t steps_ = 0;
  std::optional<Plan> plan_;
  std::unique_ptr<Smaller> smaller_;
  std::unique_ptr<Smaller> larger_;
};

/// Long messages wait for an answer of the receiver. The model predicts the cost of that wait least well:
/// where ranks are late, or share cores, it is high.
struct Eager {
  std::size_t longest;  // message that needs no answer
  /// Such messages are preferred if they should take at most this multiple of the best time.
  double preferred_below;
};
constexpr Eager eager_of_libraries{.longest = 32 * kibibyte, .preferred_below = 0};  // of every MPI library
constexpr Eager eager_of_sockets{.longest = 512 * kibibyte, .preferred_below = 1.02};

/// The number of specs that are worth a duel.
constexpr std::size_t most_considered = 6;

constexpr double never = std::numeric_limits<double>::infinity();

/// Another cut is not tried if the model expects more than this multiple of the best cut's time.
constexpr double worst_cut = 2;

/// The best ways to cut a message for one recipe; `never` if it cannot serve these calls.
struct BestCuts {
  Finding any{.spec = {}, .seconds = never};
  Finding by_eager_messages{.spec = {}, .seconds = never};
  Finding whole{.spec = {}, .seconds = never};
};

BestCuts find_best_cuts(const ShortListed& listed, const Topology& topology, const CallShape& shape,
                        const Machine& machine, const std::function<bool(const Spec&)>& fits,
                        const Eager& eager) {
  Estimator estimator(listed.recipe, topology, shape, machine);
  BestCuts best;
  const auto consider = [&](const Pipelining& pipelining, std::size_t message) {
    const Spec spec{.recipe = listed.recipe, .pipelining = pipelining};
    if (!fits(spec)) return;
    const std::optional<double> seconds = estimator.seconds(pipelining);
    if (!seconds) return;
    const auto keep_better = [&](Finding& kept) {
      if (*seconds < kept.seconds) kept = {.spec = spec, .seconds = *seconds};
    };
    keep_better(best.any);
    if (pipelining == Pipelining{}) keep_better(best.whole);
    if (message <= eager.longest) keep_better(best.by_eager_messages);
  };
  consider({}, (shape.bytes + estimator.messages() - 1) / estimator.messages());
  if (listed.recipe.algorithm->stays_whole()) return best;
  for (const std::size_t message : message_sizes) {
    if (message < least_message(shape, listed.recipe)) continue;
    if (goes_by_links(listed.recipe) && message > message_by_links) break;
    const std::size_t segment = std::min(message * estimator.messages(), Pipelining::most_segment_bytes);
    if (segment < shape.bytes && shape.bytes / segment < most_segments) {
      consider({.segments = 0, .segment_bytes = segment, .window = 0}, message);
    }
  }
  if (best.by_eager_messages.seconds <= eager.preferred_below * best.any.seconds)
    best.any = best.by_eager_messages;
  return best;
}

std::vector<Finding> find_fastest(const CallShape& shape, const Topology& topology, const Machine& machine,
                                  std::size_t most, const std::function<bool(const Spec&)>& fits,
                                  const Eager& eager) {
  const std::span<const ShortListed> registered = short_list(shape.collective);
  std::vector<ShortListed> candidates(registered.begin(), registered.end());
  if (auto of_links = find_recipe_of_links(shape.collective, topology, machine.node_rates)) {
    candidates.push_back(std::move(*of_links));
  }
  std::vector<BestCuts> all;
  for (const ShortListed& listed : candidates) {
    if (listed.needs_shared_nodes && topology.max_ppn < 2) continue;
    if (!fits({.recipe = listed.recipe, .pipelining = {}})) continue;
    BestCuts best = find_best_cuts(listed, topology, shape, machine, fits, eager);
    if (best.any.seconds < never) all.push_back(std::move(best));
  }
  std::ranges::stable_sort(all, {}, [](const BestCuts& one) { return one.any.seconds; });
  std::vector<Finding> fastest;
  for (const BestCuts& one : all) {
    fastest.push_back(one.any);
    if (&one != &all.front()) continue;
    for (const Finding& other : {one.by_eager_messages, one.whole}) {
      const bool is_new = std::ranges::find(fastest, other.spec, &Finding::spec) == fastest.end();
      if (is_new && other.seconds < worst_cut * one.any.seconds) fastest.push_back(other);
    }
  }
  if (fastest.size() > most) fastest.resize(most);
  return fastest;
}

}  // namespace

std::vector<Finding> find_fastest(const CallShape& shape, const Topology& topology, const Machine& machine,
                                  std::size_t most, const std::function<bool(const Spec&)>& fits) {
  return find_fastest(shape, topology, machine, most, fits, eager_of_libraries);
}

std::vector<Finding> find_fastest(const Question& question, const Machine& machine) {
  Question longest = question;
  longest.call.bytes = longest_of_kind(question.call.bytes);
  CallShape shortest = question.call;
  shortest.bytes = shortest_of_kind(question.call.bytes);
  const auto fits = [&](const Spec& spec) { return why_unsupported(spec, longest).empty(); };
  std::vector<Finding> found = find_fastest(shortest, question.topology, machine, most_considered, fits);
  for (Finding& finding : found) finding.bytes = shortest.bytes;
  return found;
}

std::size_t modelled_length(std::size_t bytes) {
  std::size_t length = shortest_modelled;
  while (length < longest_modelled && least_bytes_of(length * factor_of_lengths) <= bytes)
    length *= factor_of_lengths;
  return length;
}

std::vector<Finding> find_fastest_without_library(const CallShape& shape, const Topology& topology,
                                                  const Machine& machine) {
  const Question question{.call = shape, .topology = topology, .has_library = false};
  const auto fits = [&](const Spec& spec) {
    return why_unsupported(spec, question).empty() && !is_cut_small(spec, topology);
  };
  std::vector<Finding> fastest =
      find_fastest(shape, topology, machine, most_considered, fits, eager_of_sockets);
  for (Finding& finding : fastest) finding.bytes = shape.bytes;
  return fastest;
}

Spec spec_for_links(const Question& question, const std::vector<double>& rates, const Spec& spec) {
  const auto [least, most] = std::ranges::minmax(rates);
  const auto nodes = static_cast<double>(rates.size());
  const double all = std::accumulate(rates.begin(), rates.end(), 0.0);
  // The seconds of a byte, by the closed forms: with even shares, and with shares by the links.
  const double crossing = 2 * (nodes - 1);
  const double evenly = crossing / nodes / least;
  const double by_links = std::max(crossing / all, 1 / least);
  const Topology& topology = question.topology;
  const auto listed = find_recipe_of_links(Collective::allreduce, topology, rates);
  if (listed && by_links < worth_going_by_links * evenly) {
    Spec found{.recipe = listed->recipe, .pipelining = {}};
    std::size_t segment = message_by_links * static_cast<std::size_t>(topology.nodes * topology.min_ppn);
    while (question.call.bytes / segment >= most_segments) segment *= 2;
    if (segment < question.call.bytes)
      found.pipelining = {.segments = 0, .segment_bytes = segment, .window = 0};
    if (why_unsupported(found, question).empty()) return found;
  }
  if (!goes_by_links(spec.recipe)) return spec;
  Question even = question;
  even.modelled = {};
  return *decide(even).spec;
}

double least_seconds(const CallShape& shape, const Machine& machine) {
  if (shape.nodes < 2) return 0;
  const std::vector<double>& rates = machine.node_rates;
  const bool are_uneven = rates.size() == static_cast<std::size_t>(shape.nodes);
  // If links have several rates, the fastest counts: only for the whole cluster does the machine say which
  // node has which rate.
  double rate = rates.empty() ? machine.node.bandwidth : std::ranges::max(rates);
  // The messages of these collectives must cross every node's link as a whole.
  const Collective collective = shape.collective;
  const bool are_whole = collective == Collective::allreduce || collective == Collective::bcast ||
                         collective == Collective::reduce;
  if (are_uneven && are_whole) rate = std::ranges::min(rates);
  // Where cores are the limit, the rate is what a rank was seen to send.
  if (!(rate > 0) && shape.max_ppn == 1) rate = machine.protocol(Level::network, shape.bytes).bandwidth;
  if (!(rate > 0)) return 0;
  // The bytes that cross the busiest link in one direction, as a multiple of the call's bytes.
  const double others = 1 - 1.0 / shape.nodes;
  double crossing = 0;
  switch (collective) {
    case Collective::allreduce:
      // A slow link must carry its node's contribution, and all links together the least that an allreduce
      // sends (allreduce/weighted.cpp).
      crossing =
          are_uneven
              ? std::max(1.0, 2 * (shape.nodes - 1) * rate / std::accumulate(rates.begin(), rates.end(), 0.0))
              : 2 * others;
      break;
    case Collective::bcast:
    case Collective::reduce:
      crossing = 1;
      break;
    case Collective::allgather:
    case Collective::reduce_scatter:
      crossing = others;
      break;
    case Collective::alltoall:
      crossing = shape.max_ppn * (1 - static_cast<double>(shape.max_ppn) / shape.ranks);
      break;
    default:
      return 0;
  }
  return std::max(crossing * static_cast<double>(shape.bytes) - machine.node.burst, 0.0) / rate;
}

/// Where several ranks of a node send at once, a probe does not see that the link has saved up bytes.
double saved_seconds(const Machine& machine) {
  const Limit& link = machine.node;
  if (!(link.bandwidth > 0)) return 0;
  return (link.burst > 0 ? link.burst : probe_sizes::saved) / link.bandwidth;
}

}  // namespace stretto
