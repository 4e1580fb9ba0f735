// SPDX-License-Identifier: Apache-2.0
// Dissemination (Hensgen, Finkel and Manber 1988), with any radix r: in round i a rank tells the ranks d·r^i
// places ahead, for d from 1 to r-1, that it and all ranks of which it knows have arrived. ⌈log_r p⌉ rounds.
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "algorithms/barrier/barrier.hpp"

namespace stretto::barrier {

void append_dissemination(Schedule& schedule, std::span<const int> ranks, int me, int radix) {
  const auto p = static_cast<std::int64_t>(ranks.size());
  const auto rank_of = [&](std::int64_t number) { return ranks[static_cast<std::size_t>(number % p)]; };
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
  std::vector<int> ranks(static_cast<std::size_t>(task.ranks()));
  std::iota(ranks.begin(), ranks.end(), 0);
  append_dissemination(schedule, ranks, rank, task.radix);
  return schedule;
}

}  // namespace stretto::barrier
