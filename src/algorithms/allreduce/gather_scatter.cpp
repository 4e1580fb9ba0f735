// SPDX-License-Identifier: Apache-2.0
// Binomial gather and scatter (BGS of the CNN-training paper, section 4.2): rank 0 gathers all contributions
// along a binomial tree, reduces them, and sends the result down the same tree.
//
// Intel MPI names this algorithm, but does not describe it. This is our reading: the scatter of an allreduce
// brings every rank the same whole message, so it is a broadcast.
//
// 2 ceil(log2 p) rounds. Rank 0 receives p-1 messages, sends log2(p), does all the arithmetic and has scratch
// for p messages; any other rank has scratch for the messages that it passes on. No rank computes on the way.
// So it suits only tiny messages, and operations that take longer than the start-up of a message.
//
// Rank 0 has every contribution separately, so it can compute the fixed tree for any p.
#include <algorithm>
#include <vector>

#include "algorithms/allreduce/allreduce.hpp"
#include "algorithms/allreduce/reduce_in_fixed_tree.hpp"

namespace stretto::allreduce {

Schedule gather_scatter(const Task& task, int rank) {
  const int p = task.ranks();
  Schedule schedule(p, rank, 1);
  // Scratch i holds the contribution of rank + i. An inner rank copies its own there, so that it can pass on
  // the run as one message.
  const int lowest_bit = rank & -rank;
  const int subtree = rank == 0 ? p : std::min(lowest_bit, p - rank);
  if (subtree > 1) {
    for (int i = 0; i < subtree; ++i) schedule.add_scratch(0);
    if (rank != 0) schedule.copy(scratch(0), input(0));
  }
  std::vector<int> children;
  for (int distance = 1; distance < subtree; distance *= 2) {
    children.push_back(rank + distance);
    schedule.recv(scratch(distance, std::min(distance, subtree - distance)), children.back()).end_round();
  }

  if (rank == 0) {
    std::vector<Slice> contributions{input(0)};
    for (int other = 1; other < p; ++other) contributions.push_back(scratch(other));
    reduce_in_fixed_tree(schedule, contributions, output(0));
  } else {
    const int parent = rank - lowest_bit;
    schedule.send(subtree > 1 ? scratch(0, subtree) : input(0), parent).end_round();
    schedule.recv(output(0), parent).end_round();
  }
  for (; !children.empty(); children.pop_back()) schedule.send(output(0), children.back()).end_round();
  return schedule;
}

}  // namespace stretto::allreduce
