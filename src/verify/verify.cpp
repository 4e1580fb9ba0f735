// SPDX-License-Identifier: Apache-2.0
#include "verify/verify.hpp"

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "verify/results.hpp"
#include "verify/round_conflicts.hpp"
#include "verify/symbolic_run.hpp"

namespace stretto {
namespace {

void add(Traffic& traffic, const Action& send) {
  ++traffic.messages;
  traffic.blocks += send.left.count;
}

void keep_larger(Traffic& most, const Traffic& other) {
  most.messages = std::max(most.messages, other.messages);
  most.blocks = std::max(most.blocks, other.blocks);
}

void count_traffic(std::span<const Schedule> schedules, const Topology& topology, Proof& proof) {
  const auto nodes = static_cast<std::size_t>(topology.nodes);
  std::vector<Traffic> out(nodes);
  std::vector<Traffic> in(nodes);
  for (const Schedule& schedule : schedules) {
    Traffic between;
    Traffic within;
    int rounds = 0;
    const int node = topology.node(schedule.rank());
    for (int i = 0; i < schedule.rounds(); ++i) {
      const auto round = schedule.round(i);
      rounds += std::any_of(round.begin(), round.end(), [](const Action& a) { return a.communicates(); });
      for (const Action& action : round) {
        if (action.kind != Kind::send) continue;
        const int other = topology.node(action.peer);
        add(other == node ? within : between, action);
        if (other == node) continue;
        add(out[static_cast<std::size_t>(node)], action);
        add(in[static_cast<std::size_t>(other)], action);
      }
    }
    proof.rounds = std::max(proof.rounds, rounds);
    proof.messages = std::max(proof.messages, between.messages + within.messages);
    keep_larger(proof.between_nodes, between);
    keep_larger(proof.within_node, within);
  }
  for (std::size_t node = 0; node < nodes; ++node) {
    keep_larger(proof.link, out[node]);
    keep_larger(proof.link, in[node]);
  }
}

std::string find_mismatch(const Problem& problem, std::span<const Schedule> schedules) {
  const auto ranks = static_cast<int>(schedules.size());
  for (int rank = 0; rank < ranks; ++rank) {
    const Schedule& schedule = schedules[static_cast<std::size_t>(rank)];
    const bool right_cut = !has_block_of_each_rank(problem.collective) || schedule.blocks() == ranks;
    if (schedule.rank() != rank || schedule.ranks() != ranks || !right_cut ||
        schedule.blocks() != schedules[0].blocks()) {
      return "rank " + std::to_string(rank) + ": its schedule is for another rank, number of ranks or blocks";
    }
    std::string conflict = find_round_conflict(schedule, problem);
    if (!conflict.empty()) return conflict;
  }
  return {};
}

bool moves_runs(const Schedule& schedule) {
  for (int i = 0; i < schedule.rounds(); ++i) {
    for (const Action& action : schedule.round(i)) {
      const Slice& slice = action.kind == Kind::send ? action.left : action.into;
      const bool is_callers = action.left.buffer != Buffer::scratch || action.into.buffer != Buffer::scratch;
      if (slice.count > 1 && (action.communicates() || is_callers)) return true;
    }
  }
  return false;
}

/// Compares what the registry says with what was found.
std::string find_untruth(const Recipe& recipe, const Topology& topology, int root, const Proof& proof,
                         std::span<const Schedule> schedules) {
  if (has_block_of_each_rank(recipe.algorithm->collective) && !recipe.algorithm->moves_runs &&
      std::any_of(schedules.begin(), schedules.end(), moves_runs)) {
    return "it moves runs of blocks at once, but its row does not say moves_runs";
  }
  if (proof.relays && !recipe.algorithm->relays) {
    return "lengths must travel, but its row does not say that it relays";
  }
  if (!is_reduction(recipe.algorithm->collective)) return {};
  if (proof.keeps_order != keeps_order(recipe, topology, root)) {
    return proof.keeps_order ? "it keeps rank order, but its row says that it does not"
                             : "it does not keep rank order, but its row says that it does";
  }
  if (!proof.has_fixed_tree && has_fixed_tree(recipe, topology, root)) {
    return "its results are not those of the fixed tree, but its row says that they are";
  }
  return {};
}

/// Returns how much the proof keeps of one rank, in bytes.
std::size_t kept_of(const Schedule& schedule, Collective collective) {
  constexpr std::size_t of_any_rank = 512;
  // Each block of the input and the output has a value, and one that the rank brings.
  std::size_t of_block = 3 * sizeof(Expressions::Id);
  if (is_reduction(collective)) of_block += 2 * sizeof(Expressions::Node);
  // For a barrier: the ranks of which it has heard, before the round and now.
  const auto ranks = static_cast<std::size_t>(schedule.ranks());
  const std::size_t known = collective == Collective::barrier ? ranks / 4 : 0;
  return of_any_rank + known + static_cast<std::size_t>(schedule.blocks()) * of_block +
         schedule.scratch_shape().size() * sizeof(Expressions::Id) + schedule.memory_bytes();
}

/// Builds the schedules of all ranks. Throws std::invalid_argument if the proof would keep too much.
std::vector<Schedule> build_all(const Recipe& recipe, const Topology& topology, int root) {
  constexpr std::size_t most = std::size_t{3} << 30;
  const int ranks = topology.ranks();
  const auto refuse_beyond = [&](double bytes) {
    if (bytes <= static_cast<double>(most)) return;
    throw std::invalid_argument(
        to_string(recipe) + " cannot be proven on " + std::to_string(ranks) +
        " ranks: the proof carries out the schedules of all of them, which takes more "
        "than 3 GiB; prove it on fewer nodes with as many ranks each");
  };
  // A few ranks show whether it would, before all are built. They are spread, since a root may have a message
  // for each rank.
  constexpr std::int64_t sampled = 16;
  double sum = 0;
  for (std::int64_t i = 0; ranks > 1024 && i < sampled; ++i) {
    const auto rank = static_cast<int>(((2 * i + 1) * ranks / (2 * sampled) + i) % ranks);
    sum += static_cast<double>(kept_of(build(recipe, topology, root, rank), recipe.algorithm->collective));
    refuse_beyond(sum * ranks / static_cast<double>(sampled));
  }
  std::vector<Schedule> schedules;
  schedules.reserve(static_cast<std::size_t>(ranks));
  double bytes = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    const Schedule one = build(recipe, topology, root, rank);
    schedules.push_back(one);  // a copy has no spare capacity
    bytes += static_cast<double>(kept_of(one, recipe.algorithm->collective));
    refuse_beyond(bytes);
  }
  return schedules;
}

}  // namespace

Proof verify(const Problem& problem, std::span<const Schedule> schedules, const Topology& topology) {
  Proof proof;
  proof.error = find_mismatch(problem, schedules);
  if (!proof.holds()) return proof;
  proof.blocks = schedules[0].blocks();

  SymbolicRun run(schedules, problem);
  proof.error = run.execute();
  if (!proof.holds()) return proof;
  check_results(problem, schedules, run, proof);
  proof.depth = run.depth();
  proof.relays = run.relays();
  count_traffic(schedules, topology, proof);
  return proof;
}

Proof verify(const Recipe& recipe, const Topology& topology, int root) {
  const std::vector<Schedule> schedules = build_all(recipe, topology, root);
  Proof proof;
  for (const Placement placement : {Placement::out_of_place, Placement::in_place}) {
    const Problem problem{recipe.algorithm->collective, root, placement};
    if (placement == Placement::in_place && !works_in_place(problem.collective)) break;
    proof = verify(problem, schedules, topology);
    if (proof.holds()) proof.error = find_untruth(recipe, topology, root, proof, schedules);
    if (!proof.holds()) {
      proof.error = to_string(recipe) + " on " + std::to_string(topology.ranks()) + " ranks, " +
                    std::to_string(topology.nodes) + " nodes" +
                    (has_root(problem.collective) ? ", root " + std::to_string(root) : "") +
                    (placement == Placement::in_place ? ", in place: " : ": ") + proof.error;
      return proof;
    }
  }
  return proof;
}

}  // namespace stretto
