// SPDX-License-Identifier: Apache-2.0
// Dissemination (Hensgen, Finkel and Manber 1988), with any radix r: in round i a rank tells the ranks d·r^i
// places ahead, for d from 1 to r-1, that it and all ranks of which it knows have arrived. ⌈log_r p⌉ rounds.
#include <algorithm>
#include <cstdint>

#include "algorithms/barrier/barrier.hpp"

namespace stretto::barrier {

void append_dissemination(Schedule& schedule, int count, std::span<const int> ranks, int me, int radix) {
  const std::int64_t p = count;
  const auto rank_of = [&](std::int64_t number) {
    return ranks.empty() ? static_cast<int>(number % p) : ranks[static_cast<std::size_t>(number % p)];
  };
  for (std::int64_t distance = 1; distance < p; distance *= radix) {
    const std::int64_t end = std::min(distance * radix, p);
    for (std::int64_t step = distance; step < end; step += distance) {
      schedule.send(input(0), rank_of(me + step));
      schedule.recv(scratch(schedule.add_scratch(0)), rank_of(me + p - step));
    }
    schedule.end_round();
  }
}

Schedule dissemination(const Task& task, int rank) {
  Schedule schedule(task.ranks(), rank, 1);
  append_dissemination(schedule, task.ranks(), {}, rank, task.radix);
  return schedule;
}

}  // namespace stretto::barrier
