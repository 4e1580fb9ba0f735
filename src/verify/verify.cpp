// SPDX-License-Identifier: Apache-2.0
#include "verify/verify.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <vector>

#include "verify/rank_schedules.hpp"
#include "verify/results.hpp"
#include "verify/round_conflicts.hpp"
#include "verify/symbolic_run.hpp"

namespace stretto {
namespace {

constexpr std::array placements{Placement::out_of_place, Placement::in_place};

void add(Traffic& traffic, int blocks) {
  ++traffic.messages;
  traffic.blocks += blocks;
}

void keep_larger(Traffic& most, const Traffic& other) {
  most.messages = std::max(most.messages, other.messages);
  most.blocks = std::max(most.blocks, other.blocks);
}

void count_traffic(const RankSchedules& schedules, const Symmetry& symmetry, const Topology& topology,
                   Proof& proof) {
  // The first ranks for which all others stand, and the rest of their nodes.
  const int counted = symmetry.is_none() ? symmetry.ranks : std::lcm(symmetry.period, topology.max_ppn);
  const auto nodes = static_cast<std::size_t>(topology.nodes);
  std::vector<Traffic> out(nodes);
  std::vector<Traffic> in(nodes);
  for (int rank = 0; rank < counted; ++rank) {
    const int stand_in = symmetry.stand_in(rank);
    const int turns = symmetry.turns_of(rank);
    const int node = topology.node(rank);
    Traffic between;
    Traffic within;
    int rounds = 0;
    for (int round = 0; round < schedules.rounds(stand_in); ++round) {
      bool has_message = false;
      for (std::size_t index = 0; index < schedules.actions(stand_in, round); ++index) {
        const Action action = schedules.action(stand_in, round, index);
        if (!action.communicates()) continue;
        has_message = true;
        const bool leaves_node = topology.node(symmetry.turned_rank(action.peer, turns)) != node;
        if (action.kind == Kind::send) add(leaves_node ? between : within, action.left.count);
        if (!leaves_node) continue;
        add((action.kind == Kind::send ? out : in)[static_cast<std::size_t>(node)],
            action.kind == Kind::send ? action.left.count : action.into.count);
      }
      rounds += has_message ? 1 : 0;
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

/// The schedules of all ranks, or of those that stand for all, and what is wrong with single ones.
class Schedules {
 public:
  Schedules(const Symmetry& symmetry, Collective collective, int root)
      : symmetry_(symmetry), collective_(collective), root_(root) {}

  /// Adds the schedule of the next rank.
  void add(const Schedule& schedule, std::span<const Placement> checked = placements) {
    const int rank = all_.size();
    moves_runs_ = moves_runs_ || moves_runs(schedule);
    for (const Placement placement : checked) {
      std::string& error = errors_.at(static_cast<std::size_t>(placement));
      if (error.empty()) error = find_mismatch(schedule, rank, placement);
    }
    all_.add(schedule);
  }

  [[nodiscard]] std::size_t memory_bytes() const { return all_.memory_bytes(); }
  [[nodiscard]] bool moves_runs_of_blocks() const { return moves_runs_; }

  [[nodiscard]] Proof prove(Placement placement, const Topology& topology) const {
    Proof proof;
    proof.carried_out = all_.size();
    proof.error = errors_.at(static_cast<std::size_t>(placement));
    if (!proof.holds()) return proof;
    proof.blocks = all_.blocks();
    const Problem problem{collective_, root_, placement};
    SymbolicRun run(all_, symmetry_, problem);
    proof.error = run.execute();
    if (!proof.holds()) return proof;
    check_results(problem, symmetry_, run, proof);
    proof.depth = run.depth();
    proof.relays = run.relays();
    count_traffic(all_, symmetry_, topology, proof);
    return proof;
  }

 private:
  [[nodiscard]] std::string find_mismatch(const Schedule& schedule, int rank, Placement placement) const {
    const bool right_cut = !has_block_of_each_rank(collective_) || schedule.blocks() == symmetry_.ranks;
    if (schedule.rank() != rank || schedule.ranks() != symmetry_.ranks || !right_cut ||
        schedule.blocks() != symmetry_.blocks) {
      return "rank " + std::to_string(rank) + ": its schedule is for another rank, number of ranks or blocks";
    }
    return find_round_conflict(schedule, {collective_, root_, placement});
  }

  Symmetry symmetry_;
  Collective collective_;
  int root_;
  RankSchedules all_;
  std::array<std::string, placements.size()> errors_;
  bool moves_runs_ = false;
};

/// Compares what the registry says with what was found.
std::string find_untruth(const Recipe& recipe, const Topology& topology, int root, const Proof& proof,
                         bool moves_runs) {
  if (has_block_of_each_rank(recipe.algorithm->collective) && !recipe.algorithm->moves_runs && moves_runs) {
    return "it moves runs of blocks at once, but its row does not say moves_runs";
  }
  if (proof.relays && !recipe.algorithm->relays) {
    return "lengths must travel, but its row does not say that it relays";
  }
  if (!is_reduction(recipe.algorithm->collective) || proof.carried_out < topology.ranks()) return {};
  if (proof.keeps_order != keeps_order(recipe, topology, root)) {
    return proof.keeps_order ? "it keeps rank order, but its row says that it does not"
                             : "it does not keep rank order, but its row says that it does";
  }
  if (!proof.has_fixed_tree && has_fixed_tree(recipe, topology, root)) {
    return "its results are not those of the fixed tree, but its row says that they are";
  }
  return {};
}

/// Returns how much the proof keeps of one rank besides its schedule, in bytes.
std::size_t state_of(const Schedule& schedule, Collective collective) {
  constexpr std::size_t of_any_rank = 512;
  constexpr std::size_t of_table_entry = 48;
  // Each block of the input and the output has a value, and one that the rank brings.
  std::size_t of_block = 2 * sizeof(Expressions::Value) + sizeof(Expressions::Id);
  if (is_reduction(collective)) of_block += 2 * sizeof(Expressions::Node) + of_table_entry;
  // For a barrier: the ranks of which it has heard, before the round and now.
  const auto ranks = static_cast<std::size_t>(schedule.ranks());
  const std::size_t known = collective == Collective::barrier ? ranks / 4 : 0;
  return of_any_rank + known + static_cast<std::size_t>(schedule.blocks()) * of_block +
         schedule.scratch_shape().size() * sizeof(Expressions::Value);
}

/// Builds the schedules of all ranks, unless the proof would keep too much.
std::optional<Schedules> build_all(const Recipe& recipe, const Topology& topology, int root) {
  constexpr double most = std::size_t{3} << 30;
  const Collective collective = recipe.algorithm->collective;
  const int ranks = topology.ranks();
  // A few ranks show whether it would, before all are built. They are spread, since a root may have a message
  // for each rank. Of a schedule, at least its rounds and peers are kept.
  constexpr std::int64_t sampled = 16;
  double sum = 0;
  for (std::int64_t i = 0; ranks > 1024 && i < sampled; ++i) {
    const auto rank = static_cast<int>(((2 * i + 1) * ranks / (2 * sampled) + i) % ranks);
    const Schedule one = build(recipe, topology, root, rank);
    sum += static_cast<double>(state_of(one, collective) + one.actions().size() * sizeof(int) +
                               static_cast<std::size_t>(one.rounds()) * 2 * sizeof(std::uint32_t));
    if (sum * ranks / static_cast<double>(sampled) > most) return {};
  }
  std::optional<Schedules> all;
  double bytes = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    const Schedule one = build(recipe, topology, root, rank);
    if (!all) all.emplace(Symmetry::none(ranks, one.blocks()), collective, root);
    all->add(one);
    bytes += static_cast<double>(state_of(one, collective));
    if (bytes + static_cast<double>(all->memory_bytes()) > most) return {};
  }
  return all;
}

Proof prove(const Schedules& schedules, const Recipe& recipe, const Topology& topology, int root) {
  const Collective collective = recipe.algorithm->collective;
  Proof proof;
  for (const Placement placement : placements) {
    if (placement == Placement::in_place && !works_in_place(collective)) break;
    proof = schedules.prove(placement, topology);
    if (proof.holds()) {
      proof.error = find_untruth(recipe, topology, root, proof, schedules.moves_runs_of_blocks());
    }
    if (!proof.holds()) {
      proof.error = to_string(recipe) + " on " + std::to_string(topology.ranks()) + " ranks, " +
                    std::to_string(topology.nodes) + " nodes" +
                    (has_root(collective) ? ", root " + std::to_string(root) : "") +
                    (placement == Placement::in_place ? ", in place: " : ": ") + proof.error;
      return proof;
    }
  }
  return proof;
}

}  // namespace

Proof verify(const Problem& problem, std::span<const Schedule> schedules, const Topology& topology) {
  const auto ranks = static_cast<int>(schedules.size());
  Schedules all(Symmetry::none(ranks, schedules[0].blocks()), problem.collective, problem.root);
  for (const Schedule& schedule : schedules) all.add(schedule, std::span(&problem.placement, 1));
  return all.prove(problem.placement, topology);
}

Proof verify(const Recipe& recipe, const Topology& topology, int root) {
  if (const auto all = build_all(recipe, topology, root)) return prove(*all, recipe, topology, root);
  if (const auto symmetry = find_symmetry(recipe, topology)) {
    Proof proof = verify(recipe, topology, *symmetry);
    // Where sides change, ranks may compute the same expression, each for itself.
    if (proof.holds() || !symmetry->changes_sides) return proof;
  }
  throw std::invalid_argument(
      to_string(recipe) + " cannot be proven on " + std::to_string(topology.ranks()) +
      " ranks: the proof carries out the schedules of all of them, since they do not all behave alike, which "
      "takes more than 3 GiB; prove it on fewer nodes with as many ranks each");
}

Proof verify(const Recipe& recipe, const Topology& topology, const Symmetry& symmetry) {
  Schedules stand_ins(symmetry, recipe.algorithm->collective, 0);
  for (int rank = 0; rank < symmetry.period; ++rank) stand_ins.add(build(recipe, topology, 0, rank));
  Proof proof = prove(stand_ins, recipe, topology, 0);
  proof.compared = symmetry.compared;
  proof.is_sample = proof.carried_out + proof.compared < topology.ranks();
  return proof;
}

}  // namespace stretto
