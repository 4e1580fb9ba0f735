// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "algorithms/bring_to_owners.hpp"
#include "schedule/schedule.hpp"

namespace stretto::allreduce {

/// A group of ranks (those of a node, of a cache, or all) that cuts the message into lanes, seen from one of
/// them. The rank at place l of the group owns lane l, if there is one and it is not empty.
struct Lanes {
  std::span<const int> ranks;  // [place]
  int me;                      // the place of this rank
  std::vector<int> begins;     // [lane] its first block; one more for the end

  /// Returns the borders of `count` lanes of `blocks` blocks each.
  static std::vector<int> alike(int count, int blocks);

  [[nodiscard]] int size() const { return static_cast<int>(ranks.size()); }
  [[nodiscard]] int ahead(int steps) const { return (me + steps) % size(); }
  [[nodiscard]] int back(int steps) const { return (me + size() - steps) % size(); }
  [[nodiscard]] int rank(int place) const { return ranks[static_cast<std::size_t>(place)]; }
  [[nodiscard]] int blocks() const { return begins.back(); }
  [[nodiscard]] Slice lane(Buffer buffer, int place) const;
  [[nodiscard]] bool has_lane(int place) const { return lane(Buffer::input, place).count > 0; }
  [[nodiscard]] bool has_lane() const { return has_lane(me); }

  /// Appends messages by which every rank sends its contributions to the owners of lanes, which reduce them
  /// in rank order. In round s, a rank sends to the one s places ahead, so none is sent to twice in a round.
  void append_reduce_scatter(Schedule& schedule) const;
  /// Appends the allreduce of this rank's lane among one rank of each group.
  void append_across(Schedule& schedule, const Schedule& across, std::span<const int> lane_ranks) const;
  /// Appends messages by which each owner sends the result of its lane to all others.
  void append_allgather(Schedule& schedule, Pace pace) const;
};

}  // namespace stretto::allreduce
