// SPDX-License-Identifier: Apache-2.0
// Ring (RNG in Table 1 of the pipelined paper): p blocks travel around a ring of p ranks, twice.
//
// Reduce-scatter: block b starts at place b of the ring and moves on by one place in each round; each rank
// that it reaches adds its own contribution. After p-1 rounds it is complete at place b-1. Allgather: the
// complete blocks go around once more. 2(p-1) rounds. A rank sends 2(p-1)/p of the message, the least that
// an allreduce can send, for any p. The ring goes from node to node, so each node's link is crossed once in
// each direction, however ranks are mapped.
//
// There is no copy at the beginning: the first use of a block reads the input. A block that arrives in round
// k holds the contributions of the k places before this one, so a running minimum tells which operand has
// the lowest rank.
#include <algorithm>
#include <vector>

#include "algorithms/allreduce/allreduce.hpp"

namespace stretto::allreduce {
Schedule ring(const Task& task, int rank) {
  const int p = task.ranks();
  Schedule schedule(p, rank, p);
  const std::vector<int>& order = task.topology.by_node;
  const int place = static_cast<int>(std::find(order.begin(), order.end(), rank) - order.begin());
  const auto back = [&](int steps) { return (place + 2 * p - steps) % p; };
  const auto rank_back = [&](int steps) { return order[static_cast<std::size_t>(back(steps))]; };
  const int next = rank_back(-1);
  const int previous = rank_back(1);

  int lowest_arriving = p;
  for (int step = 0; step < p - 1; ++step) {
    lowest_arriving = std::min(lowest_arriving, rank_back(step + 1));
    schedule.send(step == 0 ? input(back(0)) : output(back(step)), next);
    schedule.recv_reduce(output(back(step + 1)), input(back(step + 1)), previous,
                         lowest_arriving < rank ? Side::left : Side::right);
    schedule.end_round();
  }
  for (int step = 0; step < p - 1; ++step) {
    schedule.send(output(back(step - 1)), next);
    schedule.recv(output(back(step)), previous);
    schedule.end_round();
  }
  return schedule;
}

}  // namespace stretto::allreduce
