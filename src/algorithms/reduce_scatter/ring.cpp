// SPDX-License-Identifier: Apache-2.0
// Ring: the first half of the ring allreduce (RNG in Table 1 of the pipelined paper).
//
// The block of a rank starts at the place after its owner and moves on by one place in each round. Each rank
// that it reaches adds its own contribution, the owner last. p-1 rounds of one block: a rank sends (p-1)/p
// of the message, the least possible. The ring goes from node to node, so each block crosses each node's
// link once, however ranks are mapped. Contributions are added in the order of the ring, so rank order is
// kept for two ranks only.
//
// A rank holds one block at a time, but each in a scratch block of its own: blocks may have any lengths, and
// a scratch block is as large as the block that it stands for. So scratch takes as much memory as the
// message.
#include <algorithm>

#include "algorithms/reduce_scatter/reduce_scatter.hpp"

namespace stretto::reduce_scatter {

Schedule ring(const Task& task, int rank) {
  const Topology& topology = task.topology;
  const int p = task.ranks();
  Schedule schedule(p, rank, p);
  const int place = topology.node_begin[static_cast<std::size_t>(topology.node(rank))] + topology.place(rank);
  const auto rank_back = [&](int steps) {
    return topology.by_node[static_cast<std::size_t>((place + 2 * p - steps) % p)];
  };
  const int next = rank_back(-1);
  const int previous = rank_back(1);

  Slice travelling = input(previous);
  int lowest_arriving = p;
  for (int step = 1; step < p; ++step) {
    lowest_arriving = std::min(lowest_arriving, rank_back(step));
    const int block = rank_back(step + 1);
    const Slice held = scratch(schedule.add_scratch(block));
    schedule.send(travelling, next);
    schedule.recv_reduce(held, input(block), previous, lowest_arriving < rank ? Side::left : Side::right);
    schedule.end_round();
    travelling = held;
  }
  return schedule.copy(output(rank), travelling).end_round();
}

}  // namespace stretto::reduce_scatter
