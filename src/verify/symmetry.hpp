// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "algorithms/registry.hpp"
#include "topology/topology.hpp"

namespace stretto {

/// Ranks that behave alike. A *turn* adds `period` to every rank, modulo their number, and `block_period` to
/// the place of every block in its circle. It makes the schedule of rank r + period out of that of rank r. So
/// the first `period` ranks stand for all.
struct Symmetry {
  int ranks = 1;
  int blocks = 1;
  int period = 1;
  int block_period = 0;
  int circle = 1;  // so many consecutive blocks: all, or those of a lane
  /// Whether the operands of a reduction change sides, but for which the schedules are alike. Around a ring,
  /// the lower rank is on the left.
  bool changes_sides = false;
  /// Of how many ranks, beside the first `period`, the schedules were found to be those that the turns make.
  /// If they are not all others, the symmetry is known by a sample only.
  int compared = 0;

  /// Every rank stands for itself.
  static Symmetry none(int ranks, int blocks) {
    return {.ranks = ranks, .blocks = blocks, .period = ranks, .circle = blocks};
  }

  /// The number of turns until all is in its place again.
  [[nodiscard]] int turns() const { return ranks / period; }
  [[nodiscard]] bool is_none() const { return turns() == 1; }
  [[nodiscard]] int turns_of(int rank) const { return rank / period; }
  [[nodiscard]] int stand_in(int rank) const { return rank % period; }
  /// `turns` may be negative.
  [[nodiscard]] int turned_rank(int rank, int turns) const { return turned(rank, period, turns, ranks); }
  [[nodiscard]] int turned_block(int block, int turns) const {
    const int place = block % circle;
    return block - place + turned(place, block_period, turns, circle);
  }
  /// Whether a run of blocks holds the same blocks after a turn.
  [[nodiscard]] bool stays(int first, int count) const {
    return block_period == 0 || (count >= circle && first % circle == 0 && count % circle == 0);
  }

  friend bool operator==(const Symmetry&, const Symmetry&) = default;

 private:
  static int turned(int number, int step, int turns, int count) {
    const auto there = (number + static_cast<long long>(step) * turns) % count;
    return static_cast<int>(there < 0 ? there + count : there);
  }
};

/// Finds ranks that behave alike. The schedules of all ranks are built and compared with those of the
/// stand-ins, on all cores. If they have more than `most_actions` actions, only some are compared, those at
/// the borders among them: `compared` says how many. Returns nothing if a rank is different, or where there
/// is a root or a late rank, or links or nodes differ.
std::optional<Symmetry> find_symmetry(const Recipe& recipe, const Topology& topology,
                                      std::int64_t most_actions = std::int64_t{1} << 31);

}  // namespace stretto
