// SPDX-License-Identifier: Apache-2.0
// A k-nomial tree, up and down (KNO of the CNN-training paper, section 4.2). At distance 1, k, k^2, … a rank
// whose number is a multiple of k times the distance receives from the next k-1 multiples of the distance,
// all in one round, until rank 0 has everything. The result goes down the same way.
//
// 2 ceil(log_k p) rounds of the whole message. In a round, rank 0 receives or sends up to k-1 messages. It
// suits small messages where another round costs more than another message in the same round. k = 2 is a
// binomial tree.
//
// The contributions of a child follow those of the child before it, so rank order is kept. A tree combines
// the k runs: if k and p are powers of two, it is the fixed tree.
#include <bit>
#include <cstdint>
#include <vector>

#include "algorithms/allreduce/allreduce.hpp"
#include "algorithms/allreduce/reduce_in_fixed_tree.hpp"

namespace stretto::allreduce {

Schedule knomial(const Task& task, int rank) {
  const int p = task.ranks();
  const std::int64_t k = task.radix;
  Schedule schedule(p, rank, 1);
  Slice mine = input(0);
  std::vector<std::vector<int>> children;  // [level]
  std::int64_t distance = 1;
  for (; distance < p && rank % (distance * k) == 0; distance *= k) {
    std::vector<int>& here = children.emplace_back();
    std::vector<Slice> runs{mine};
    for (std::int64_t child = rank + distance; child < p && child < rank + k * distance; child += distance) {
      here.push_back(static_cast<int>(child));
      if (schedule.scratch_shape().size() < here.size()) schedule.add_scratch(0);
      runs.push_back(scratch(static_cast<int>(here.size()) - 1));
      schedule.recv(runs.back(), here.back());
    }
    schedule.end_round();
    if (here.empty()) continue;
    reduce_in_fixed_tree(schedule, runs, output(0));
    mine = output(0);
  }
  if (rank != 0) {
    const int parent = static_cast<int>(rank - rank % (distance * k));
    schedule.send(mine, parent).end_round();
    schedule.recv(output(0), parent).end_round();
  }
  for (; !children.empty(); children.pop_back()) {
    for (const int child : children.back()) schedule.send(output(0), child);
    schedule.end_round();
  }
  return schedule;
}

bool knomial_has_fixed_tree(const Task& task) {
  return std::has_single_bit(static_cast<unsigned>(task.ranks())) &&
         std::has_single_bit(static_cast<unsigned>(task.radix));
}

}  // namespace stretto::allreduce
