// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <numeric>
#include <span>
#include <vector>

#include "algorithms/bring_to_owners.hpp"
#include "schedule/schedule.hpp"

namespace stretto::allreduce {

/// The ranks of a group (of a node, of a cache) and the blocks of their lanes, seen from one of these ranks.
struct Lanes {
  std::span<const int> ranks;
  int me;
  int count;   // of lanes
  int blocks;  // of a lane

  [[nodiscard]] int size() const { return static_cast<int>(ranks.size()); }
  [[nodiscard]] bool has_lane() const { return me < count; }
  [[nodiscard]] int ahead(int steps) const { return (me + steps) % size(); }
  [[nodiscard]] int back(int steps) const { return (me + size() - steps) % size(); }
  [[nodiscard]] int rank(int place) const { return ranks[static_cast<std::size_t>(place)]; }
  [[nodiscard]] Slice lane(Buffer buffer, int number) const { return {buffer, number * blocks, blocks}; }

  /// Appends the allreduce of this rank's lane among one rank of each group.
  void append_across(Schedule& schedule, const Schedule& across, std::span<const int> lane_ranks) const {
    std::vector<int> borders(static_cast<std::size_t>(blocks) + 1);
    std::iota(borders.begin(), borders.end(), me * blocks);
    schedule.append(
        across,
        {.ranks = lane_ranks, .input = size() == 1 ? Buffer::input : Buffer::output, .borders = borders});
  }

  /// Appends messages by which each lane's rank sends its result to all others.
  void append_allgather(Schedule& schedule, Pace pace) const {
    for (int steps = 1; steps < size(); ++steps) {
      const int from = back(steps);
      if (has_lane()) schedule.send(lane(Buffer::output, me), rank(ahead(steps)));
      if (from < count) schedule.recv(lane(Buffer::output, from), rank(from));
      if (pace == Pace::one_a_round) schedule.end_round();
    }
    schedule.end_round();
  }
};

}  // namespace stretto::allreduce
