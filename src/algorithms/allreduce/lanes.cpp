// SPDX-License-Identifier: Apache-2.0
#include "algorithms/allreduce/lanes.hpp"

#include <numeric>

namespace stretto::allreduce {

std::vector<int> Lanes::alike(int count, int blocks) {
  std::vector<int> begins;
  for (int lane = 0; lane <= count; ++lane) begins.push_back(lane * blocks);
  return begins;
}

Slice Lanes::lane(Buffer buffer, int place) const {
  const auto at = static_cast<std::size_t>(place);
  return at + 1 < begins.size() ? Slice{buffer, begins[at], begins[at + 1] - begins[at]}
                                : Slice{buffer, 0, 0};
}

// The owner at place l receives the contributions of l-1, …, 0, and then of the last place, …, l+1. It puts
// each on the left of its partial result, but starts a second partial result, in scratch, where the order
// wraps around. Joined, both are in rank order.
void Lanes::append_reduce_scatter(Schedule& schedule) const {
  const Slice result = lane(Buffer::output, me);
  Slice from_above;  // contributions of the ranks above this one
  Slice so_far = lane(Buffer::input, me);
  for (int steps = 1; steps < size(); ++steps) {
    const int to = ahead(steps);
    const int from = back(steps);
    if (has_lane(to)) schedule.send(lane(Buffer::input, to), rank(to));
    if (has_lane()) {
      if (from < me) {
        schedule.recv_reduce(result, so_far, rank(from), Side::left);
        so_far = result;
      } else if (from_above.count == 0) {
        from_above = scratch(schedule.add_scratch(result.first, result.count), result.count);
        schedule.recv(from_above, rank(from));
      } else {
        schedule.recv_reduce(from_above, from_above, rank(from), Side::left);
      }
    }
    schedule.end_round();
  }
  if (from_above.count != 0) schedule.reduce(result, so_far, from_above).end_round();
}

void Lanes::append_across(Schedule& schedule, const Schedule& across, std::span<const int> lane_ranks) const {
  const Slice own = lane(Buffer::output, me);
  std::vector<int> borders(static_cast<std::size_t>(own.count) + 1);
  std::iota(borders.begin(), borders.end(), own.first);
  schedule.append(
      across,
      {.ranks = lane_ranks, .input = size() == 1 ? Buffer::input : Buffer::output, .borders = borders});
}

void Lanes::append_allgather(Schedule& schedule, Pace pace) const {
  for (int steps = 1; steps < size(); ++steps) {
    const int from = back(steps);
    if (has_lane()) schedule.send(lane(Buffer::output, me), rank(ahead(steps)));
    if (has_lane(from)) schedule.recv(lane(Buffer::output, from), rank(from));
    if (pace == Pace::one_a_round) schedule.end_round();
  }
  schedule.end_round();
}

}  // namespace stretto::allreduce
