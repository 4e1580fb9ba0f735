// SPDX-License-Identifier: Apache-2.0
#include "model/growth.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <utility>
#include <vector>

#include "model/walker.hpp"

namespace stretto {
namespace {

constexpr int longest_period = 4;
constexpr int few_nodes = Growth::most_nodes >> longest_period;

/// Returns a machine on which each message takes one second, and nothing else takes time.
Machine counting_machine() {
  Machine machine;
  for (auto& level : machine.levels) level = {{.from = 0, .latency = 1, .bandwidth = 1e300}};
  return machine;
}

bool is_power_of_two(int number) {
  return std::has_single_bit(static_cast<unsigned>(number));
}

}  // namespace

Topology uniform(int nodes, int ppn) {
  std::vector<int> labels;
  labels.reserve(static_cast<std::size_t>(nodes) * static_cast<std::size_t>(ppn));
  for (int node = 0; node < nodes; ++node) {
    labels.insert(labels.end(), static_cast<std::size_t>(ppn), node);
  }
  return Topology::from_labels(labels);
}

int half_of(int nodes) {
  const int half = (nodes + 1) / 2;
  return is_power_of_two(half) && !is_power_of_two(nodes) ? half - 1 : half;
}

Growth::Growth(Recipe recipe, int ppn, int root) : recipe_(std::move(recipe)), ppn_(ppn), root_(root) {
  // At least every second further node adds a message. Trees of a high radix do so only on few ranks.
  constexpr int half = most_nodes / 2;
  is_by_nodes_ = most(most_nodes).messages - most(half).messages >= half / 2;
  if (!is_by_nodes_) is_by_nodes_ = depth(32) - depth(16) >= 8;
  const auto moved = [this](int nodes) {
    return static_cast<double>(most(nodes).moved) / most(nodes).blocks;
  };
  has_short_rounds_ = moved(most_nodes) < 1.1 * moved(few_nodes);
  cuts_by_nodes_ = most(most_nodes).blocks > most(half).blocks;
  if (!is_by_nodes_) period_ = find_period();
}

const Growth::Most& Growth::most(int nodes) {
  const auto [entry, is_new] = most_.try_emplace(nodes);
  if (!is_new) return entry->second;
  const Topology topology = uniform(nodes, ppn_);
  const int ranks = topology.ranks();
  const int root = root_ % ranks;
  Most& most = entry->second;
  // In the first pair of ranks, one may hand over its part to the other (algorithms/core.hpp), so both are
  // built.
  for (const int rank : std::array{root, (root + 1) % ranks, ranks - 1}) {
    const Schedule schedule = build(recipe_, topology, root, rank);
    most.rounds = std::max(most.rounds, schedule.rounds());
    most.messages = std::max(
        most.messages, static_cast<int>(std::ranges::count_if(schedule.actions(), &Action::communicates)));
    most.actions = std::max(most.actions, schedule.actions().size());
    std::int64_t moved = 0;
    for (const Action& action : schedule.actions()) {
      if (action.communicates()) moved += action.kind == Kind::send ? action.left.count : action.into.count;
    }
    most.moved = std::max(most.moved, moved);
    most.blocks = schedule.blocks();
  }
  return most;
}

/// Returns the number of messages on the longest chain in which each one waits for the one before.
int Growth::depth(int nodes) const {
  const Topology topology = uniform(nodes, ppn_);
  const Plan plan(recipe_, topology, root_ % topology.ranks());
  WalkedCall call;
  call.collective = recipe_.algorithm->collective;
  call.bytes = static_cast<std::size_t>(plan.blocks()) * call.element_bytes;
  const WalkOptions options{.model = CostModel::postal, .arithmetic = false, .engine = false};
  return static_cast<int>(std::lround(walk(plan, call, counting_machine(), options).end().at()));
}

int Growth::find_period() {
  const auto is_regular = [this](int period) {
    const auto further = [&](int nodes, int Most::*what) {
      return most(nodes).*what - most(nodes >> period).*what;
    };
    if (further(most_nodes, &Most::rounds) == 0) return false;
    for (int nodes = most_nodes; nodes >> period > 1; nodes /= 2) {
      for (const auto what : {&Most::rounds, &Most::messages}) {
        if (further(nodes, what) != further(most_nodes, what)) return false;
      }
    }
    return true;
  };
  for (int period = 1; period <= longest_period; ++period) {
    if (is_regular(period)) return period;
  }
  return 0;
}

double Growth::rounds(int nodes) {
  if (period_ == 0) return most(nodes).rounds;
  double further = 0;
  const double each = most(most_nodes).rounds - most(most_nodes >> period_).rounds;
  for (; nodes > most_nodes; further += each) {
    for (int i = 0; i < period_; ++i) nodes = half_of(nodes);
  }
  return most(nodes).rounds + further;
}

std::size_t Growth::steps(int nodes) {
  const auto [entry, is_new] = steps_.try_emplace(nodes);
  if (!is_new) return entry->second;
  const Topology topology = uniform(nodes, ppn_);
  const int ranks = topology.ranks();
  const int root = root_ % ranks;
  const auto actions_of = [&](int rank) { return build(recipe_, topology, root, rank).actions().size(); };
  // Samples ranks at places of all kinds in trees: multiples of the golden ratio never come near the same
  // place again.
  const int sampled = std::min(ranks, 40);
  double sum = 0;
  for (int i = 0; i < sampled; ++i) {
    const auto rank = static_cast<int>(std::fmod((i + 1) * 0.6180339887498949, 1.0) * ranks);
    sum += rank == root ? 0.0 : static_cast<double>(actions_of(rank));
  }
  entry->second = actions_of(root) + static_cast<std::size_t>(sum / sampled * ranks);
  return entry->second;
}

std::size_t Growth::most_steps(int nodes) {
  const auto ranks = static_cast<double>(nodes) * ppn_;
  if (nodes <= most_nodes) return static_cast<std::size_t>(ranks) * most(nodes).actions;
  const auto more = static_cast<double>(most(most_nodes).actions);
  const double growth = more - static_cast<double>(most(few_nodes).actions);
  // Even where time is not linear in nodes, a rank's actions may be: an alltoall copies p blocks.
  const double times = growth >= most_nodes / 2.0
                           ? static_cast<double>(nodes - most_nodes) / (most_nodes - few_nodes)
                           : std::log2(static_cast<double>(nodes) / most_nodes) / longest_period;
  return static_cast<std::size_t>(ranks * (more + growth * times));
}

}  // namespace stretto
