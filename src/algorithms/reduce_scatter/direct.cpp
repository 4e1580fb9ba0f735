// SPDX-License-Identifier: Apache-2.0
// Direct: every rank sends each other rank its block, all at once, and reduces the contributions to its own
// block. One round of p-1 messages, and as few bytes as a ring. It is the first half of a two-shot allreduce,
// for ranks that share memory: see algorithms/allreduce/two_shot.cpp. Over a network, `pairwise` spreads the
// same messages over rounds. The owner computes the fixed tree, for any p.
#include <utility>
#include <vector>

#include "algorithms/reduce_scatter/reduce_brought.hpp"
#include "algorithms/reduce_scatter/reduce_scatter.hpp"

namespace stretto::reduce_scatter {

Schedule direct(const Task& task, int rank) {
  const int p = task.ranks();
  Schedule schedule(p, rank, p);
  std::vector<Slice> brought(static_cast<std::size_t>(p), input(rank));
  for (int ahead = 1; ahead < p; ++ahead) {
    const int from = (rank + p - ahead) % p;
    const Slice landing = scratch(schedule.add_scratch(rank));
    schedule.send(input((rank + ahead) % p), (rank + ahead) % p).recv(landing, from);
    brought[static_cast<std::size_t>(from)] = landing;
  }
  schedule.end_round();
  reduce_brought(schedule, std::move(brought));
  return schedule;
}

}  // namespace stretto::reduce_scatter
