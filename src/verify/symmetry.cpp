// SPDX-License-Identifier: Apache-2.0
#include "verify/symmetry.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <random>
#include <vector>

namespace stretto {
namespace {

bool may_be_symmetric(const Recipe& recipe) {
  const Collective collective = recipe.algorithm->collective;
  return !has_root(collective) && !is_scan(collective) && !recipe.algorithm->takes_late &&
         !recipe.algorithm->takes_links && std::ranges::all_of(recipe.parts, may_be_symmetric);
}

/// Whether all nodes are alike: equally many consecutive ranks, whose sockets and caches are alike.
bool has_equal_nodes(const Topology& topology) {
  if (!topology.contiguous || topology.min_ppn != topology.max_ppn) return false;
  const auto is_repeated = [&](const std::vector<int>& label, int count) {
    for (int rank = 0; rank < topology.ranks(); ++rank) {
      const int on_first = label[static_cast<std::size_t>(topology.place(rank))];
      const int before = count / topology.nodes * topology.node(rank);
      if (label[static_cast<std::size_t>(rank)] != before + on_first) return false;
    }
    return true;
  };
  return is_repeated(topology.socket_of, topology.sockets) && is_repeated(topology.numa_of, topology.numas) &&
         is_repeated(topology.l3_of, topology.l3s);
}

/// Compares schedules that should be alike after some turns.
class Comparison {
 public:
  Comparison(const Symmetry& symmetry, Collective collective, int turns)
      : symmetry_(symmetry), collective_(collective), turns_(turns) {}

  [[nodiscard]] bool holds(const Schedule& one, const Schedule& turned) {
    if (one.rounds() != turned.rounds() || one.blocks() != turned.blocks() ||
        one.scratch_shape().size() != turned.scratch_shape().size()) {
      return false;
    }
    shapes_ = {&one.scratch_shape(), &turned.scratch_shape()};
    for (int round = 0; round < one.rounds(); ++round) {
      const auto is_alike = [this](const Action& a, const Action& b) { return is_turned(a, b); };
      if (!std::ranges::equal(one.round(round), turned.round(round), is_alike)) return false;
    }
    return true;
  }

  [[nodiscard]] bool found_other_sides() const { return found_other_sides_; }

 private:
  [[nodiscard]] bool is_turned(const Action& one, const Action& other) {
    if (one.kind != other.kind || !is_turned(one.into, other.into)) return false;
    if (one.communicates()) {
      if (symmetry_.turned_rank(one.peer, turns_) != other.peer) return false;
      // A rank of other turns has the same blocks in another order.
      const Slice& message = one.kind == Kind::send ? one.left : one.into;
      if (symmetry_.turns_of(one.peer) != 0 && symmetry_.block_period != 0 && is_circles(message))
        return false;
    } else if (other.communicates()) {
      return false;
    }
    if (one.kind == Kind::recv_reduce) {
      found_other_sides_ = found_other_sides_ || one.arriving != other.arriving;
      return is_turned(one.with(), other.with());
    }
    if (is_turned(one.left, other.left) && is_turned(one.right, other.right)) return true;
    if (one.kind != Kind::reduce) return false;
    found_other_sides_ = true;
    return is_turned(one.left, other.right) && is_turned(one.right, other.left);
  }

  /// Whether a slice consists of whole circles. They hold the same blocks after any turn, in another order.
  [[nodiscard]] bool is_circles(const Slice& slice) const {
    if (slice.is_strided()) return false;
    const bool is_scratch = slice.buffer == Buffer::scratch;
    const int first = is_scratch ? size_of(shapes_[0], slice, 0) : slice.first;
    if (!symmetry_.stays(first, slice.count)) return false;
    for (int i = 1; i < slice.count && is_scratch; ++i) {
      if (size_of(shapes_[0], slice, i) != first + i) return false;
    }
    return true;
  }

  [[nodiscard]] bool is_turned(const Slice& one, const Slice& other) const {
    if (one.buffer != other.buffer || one.count != other.count) return false;
    if (one.count == 0) return true;
    const bool is_scratch = one.buffer == Buffer::scratch;
    if (is_scratch && one != other) return false;
    if (is_scratch && is_alltoall(collective_)) return true;
    const bool stays = is_circles(one);
    for (int i = 0; i < one.count; ++i) {
      const int block = is_scratch ? size_of(shapes_[0], one, i) : one.block(i);
      const int found = is_scratch ? size_of(shapes_[1], other, i) : other.block(i);
      if (found != (stays ? block : symmetry_.turned_block(block, turns_))) return false;
    }
    return true;
  }

  /// The block whose size a scratch block has. A scratch block has the same number on all ranks.
  static int size_of(const ScratchShape* shape, const Slice& scratch, int index) {
    return (*shape)[static_cast<std::size_t>(scratch.block(index))];
  }

  const Symmetry& symmetry_;
  Collective collective_;
  int turns_;
  std::array<const ScratchShape*, 2> shapes_{};
  bool found_other_sides_ = false;
};

/// Returns the turns after which schedules are compared: all, or those at the borders and random ones.
std::vector<int> compared_turns(int all, int most) {
  std::vector<int> turns;
  if (all - 1 <= most) {
    for (int turn = 1; turn < all; ++turn) turns.push_back(turn);
    return turns;
  }
  for (const int turn : {1, 2, all / 2 - 1, all / 2, all - 2, all - 1}) turns.push_back(turn);
  std::mt19937 random(1);
  while (turns.size() < static_cast<std::size_t>(most)) {
    turns.push_back(static_cast<int>(1 + random() % static_cast<unsigned>(all - 1)));
  }
  return turns;
}

/// Compares the schedules of the stand-ins with those after the turns; finds out about sides.
bool holds(Symmetry& symmetry, const Recipe& recipe, const Topology& topology, int most_compared) {
  const std::vector<int> compared = compared_turns(symmetry.turns(), most_compared);
  for (int rank = 0; rank < symmetry.period; ++rank) {
    const Schedule one = build(recipe, topology, 0, rank);
    for (const int turns : compared) {
      Comparison comparison(symmetry, recipe.algorithm->collective, turns);
      if (!comparison.holds(one, build(recipe, topology, 0, symmetry.turned_rank(rank, turns)))) return false;
      symmetry.changes_sides = symmetry.changes_sides || comparison.found_other_sides();
    }
  }
  return true;
}

}  // namespace

std::optional<Symmetry> find_symmetry(const Recipe& recipe, const Topology& topology, int most_compared) {
  if (!may_be_symmetric(recipe) || topology.ranks() == 0 || !has_equal_nodes(topology)) return {};
  const int ranks = topology.ranks();
  const int blocks = build(recipe, topology, 0, 0).blocks();
  const int ppn = topology.max_ppn;
  // Neighbours in pairs are alike after two ranks, and ranks at the same place after a node.
  for (const int period : std::array{1, 2, ppn, 2 * ppn}) {
    if (ranks % period != 0 || ranks == period) continue;
    // A circle has as many blocks as there are ranks, or nodes; or blocks stay where they are.
    for (const int members : {ranks, topology.nodes, 0}) {
      if (members > 0 && (blocks % members != 0 || period % (ranks / members) != 0)) continue;
      Symmetry symmetry{.ranks = ranks,
                        .blocks = blocks,
                        .period = period,
                        .block_period = members > 0 ? period / (ranks / members) % members : 0,
                        .circle = members > 0 ? members : blocks};
      // A block of each rank moves with its rank.
      if (has_block_of_each_rank(recipe.algorithm->collective) && symmetry.block_period != period) continue;
      if (holds(symmetry, recipe, topology, most_compared)) return symmetry;
    }
  }
  return {};
}

}  // namespace stretto
