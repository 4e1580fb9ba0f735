// SPDX-License-Identifier: Apache-2.0
#include "verify/symmetry.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <future>
#include <iterator>
#include <numeric>
#include <random>
#include <set>
#include <span>
#include <thread>
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

/// Compares the schedule of a stand-in with those that should be the same after some turns.
class Comparison {
 public:
  Comparison(const Symmetry& symmetry, Collective collective, const Schedule& one)
      : symmetry_(symmetry), collective_(collective), one_(one) {}

  [[nodiscard]] bool holds(const Schedule& turned, int turns) {
    if (one_.rounds() != turned.rounds() || one_.blocks() != turned.blocks() ||
        turned.ranks() != symmetry_.ranks || turned.rank() != symmetry_.turned_rank(one_.rank(), turns) ||
        one_.scratch_shape().size() != turned.scratch_shape().size()) {
      return false;
    }
    rank_shift_ = symmetry_.turned_rank(0, turns);
    block_shift_ = symmetry_.turned_block(0, turns);
    its_shape_ = &turned.scratch_shape();
    for (int round = 0; round < one_.rounds(); ++round) {
      const auto is_alike = [this](const Action& a, const Action& b) { return is_turned(a, b); };
      if (!std::ranges::equal(one_.round(round), turned.round(round), is_alike)) return false;
    }
    return true;
  }

  [[nodiscard]] bool found_other_sides() const { return found_other_sides_; }

 private:
  [[nodiscard]] bool is_turned(const Action& one, const Action& other) {
    if (one.kind != other.kind || !is_turned(one.into, other.into)) return false;
    if (one.communicates()) {
      if (shifted(one.peer, rank_shift_, symmetry_.ranks) != other.peer) return false;
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
    const int first = is_scratch ? size_of(one_.scratch_shape(), slice, 0) : slice.first;
    if (!symmetry_.stays(first, slice.count)) return false;
    for (int i = 1; i < slice.count && is_scratch; ++i) {
      if (size_of(one_.scratch_shape(), slice, i) != first + i) return false;
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
      const int block = is_scratch ? size_of(one_.scratch_shape(), one, i) : one.block(i);
      const int found = is_scratch ? size_of(*its_shape_, other, i) : other.block(i);
      if (found != (stays ? block : turned_block(block))) return false;
    }
    return true;
  }

  // As Symmetry::turned_block(), but a division takes longer than all the rest.
  [[nodiscard]] int turned_block(int block) const {
    const int place = block < symmetry_.circle ? block : block % symmetry_.circle;
    return block - place + shifted(place, block_shift_, symmetry_.circle);
  }
  static int shifted(int number, int shift, int count) {
    return number < count - shift ? number + shift : number - (count - shift);
  }

  /// The block whose size a scratch block has. A scratch block has the same number on all ranks.
  static int size_of(const ScratchShape& shape, const Slice& scratch, int index) {
    return shape[static_cast<std::size_t>(scratch.block(index))];
  }

  const Symmetry& symmetry_;
  Collective collective_;
  const Schedule& one_;
  int rank_shift_ = 0;
  int block_shift_ = 0;
  const ScratchShape* its_shape_ = nullptr;
  bool found_other_sides_ = false;
};

std::vector<int> all_turns(int count) {
  std::vector<int> turns(static_cast<std::size_t>(count) - 1);
  std::iota(turns.begin(), turns.end(), 1);
  return turns;
}

/// Returns some turns: those at the borders, and random ones.
std::vector<int> some_turns(int count) {
  constexpr std::size_t sampled = 16;
  std::set<int> turns{1, 2, count / 2 - 1, count / 2, count - 2, count - 1};
  std::mt19937 random(1);
  while (turns.size() < sampled)
    turns.insert(static_cast<int>(1 + random() % static_cast<unsigned>(count - 1)));
  return {turns.begin(), turns.end()};
}

/// Compares the schedule of one stand-in with those after the turns.
class TurnsOfOne {
 public:
  TurnsOfOne(const Symmetry& symmetry, const Recipe& recipe, const Topology& topology, int rank)
      : symmetry_(symmetry), recipe_(recipe), topology_(topology), one_(build(recipe, topology, 0, rank)) {}

  [[nodiscard]] std::int64_t actions() const { return std::ssize(one_.actions()); }
  [[nodiscard]] bool found_other_sides() const { return found_other_sides_; }

  [[nodiscard]] bool hold(std::span<const int> turns) {
    turns_ = turns;
    // Mostly, either the first one differs or none does.
    compare_next(1);
    std::vector<std::future<void>> helpers;
    for (std::size_t i = 1; is_alike_ && i < threads(); ++i) {
      helpers.push_back(std::async(std::launch::async, [this] { compare_next(turns_.size()); }));
    }
    compare_next(turns_.size());
    for (auto& helper : helpers) helper.get();
    return is_alike_;
  }

 private:
  /// As many as have cores, memory and work.
  [[nodiscard]] std::size_t threads() const {
    constexpr std::size_t most_bytes = std::size_t{2} << 30;
    constexpr std::size_t actions_worth_a_thread = 1 << 20;
    const std::size_t cores = std::thread::hardware_concurrency();
    // A vector that grows has room for twice as many, beside those from which it grows.
    return std::min({cores, most_bytes / (3 * one_.memory_bytes() + 1),
                     turns_.size() * one_.actions().size() / actions_worth_a_thread});
  }

  /// Compares at most so many of the turns that no thread has compared.
  void compare_next(std::size_t most) {
    Comparison comparison(symmetry_, recipe_.algorithm->collective, one_);
    // The last schedule stays until there is the next one. Otherwise, the system would get the memory back,
    // and to get it again takes several times as long as all the rest.
    std::optional<Schedule> schedule;
    for (std::size_t i = 0; i < most && is_alike_; ++i) {
      const std::size_t index = next_.fetch_add(1);
      if (index >= turns_.size()) break;
      const int turns = turns_[index];
      schedule = build(recipe_, topology_, 0, symmetry_.turned_rank(one_.rank(), turns));
      if (!comparison.holds(*schedule, turns)) is_alike_ = false;
    }
    if (comparison.found_other_sides()) found_other_sides_ = true;
  }

  const Symmetry& symmetry_;
  const Recipe& recipe_;
  const Topology& topology_;
  const Schedule one_;
  std::span<const int> turns_;
  std::atomic<std::size_t> next_{0};
  std::atomic<bool> is_alike_{true};
  std::atomic<bool> found_other_sides_{false};
};

/// Compares the schedules of all ranks, or of some, with those of the stand-ins; finds out about sides.
bool holds(Symmetry& symmetry, const Recipe& recipe, const Topology& topology, std::int64_t most_actions) {
  for (int rank = 0; rank < symmetry.period; ++rank) {
    TurnsOfOne all(symmetry, recipe, topology, rank);
    const bool are_few = symmetry.turns() < 100 || all.actions() * symmetry.ranks <= most_actions;
    const std::vector<int> turns = are_few ? all_turns(symmetry.turns()) : some_turns(symmetry.turns());
    if (!all.hold(turns)) return false;
    symmetry.compared += static_cast<int>(turns.size());
    symmetry.changes_sides = symmetry.changes_sides || all.found_other_sides();
  }
  return true;
}

}  // namespace

std::optional<Symmetry> find_symmetry(const Recipe& recipe, const Topology& topology,
                                      std::int64_t most_actions) {
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
      if (holds(symmetry, recipe, topology, most_actions)) return symmetry;
    }
  }
  return {};
}

}  // namespace stretto
