// SPDX-License-Identifier: Apache-2.0
// A ring in both directions (SHR of the CNN-training paper, section 4.2): one half of the message travels
// around the ring forwards and the other half backwards, at the same time. Each half is cut into p blocks
// and goes around twice, as in ring.cpp: reduce-scatter, then allgather.
//
// The name is Intel MPI's ("Shumilin's ring"); all that is published about it is that it is a ring. This is
// our reading, chosen to differ from ring.cpp: a rank exchanges with both neighbours in every round.
//
// 2(p-1) rounds. A rank sends 2(p-1)/p of the message, as in a ring, but in twice as many messages, half of
// them in each direction. So both directions of both of a rank's links are busy. A ring leaves half of that
// idle if links are full duplex (two adapters, a torus, ranks on one node). The ring goes from node to node.
#include <algorithm>
#include <array>
#include <vector>

#include "algorithms/allreduce/allreduce.hpp"

namespace stretto::allreduce {

Schedule shumilin_ring(const Task& task, int rank) {
  const int p = task.ranks();
  Schedule schedule(p, rank, 2 * p);
  const std::vector<int>& order = task.topology.by_node;
  const int place = static_cast<int>(std::find(order.begin(), order.end(), rank) - order.begin());

  /// Half of the message on its way around. Forwards and backwards differ only in the sign. Blocks have the
  /// numbers of the places where they start.
  struct Half {
    int first_block;
    int sign;
    int lowest_arriving;
  };
  std::array<Half, 2> halves{{{0, 1, p}, {p, -1, p}}};
  const auto back = [&](const Half& half, int steps) {
    return (place + half.sign * (p - steps) + 2 * p) % p;
  };
  const auto rank_back = [&](const Half& half, int steps) {
    return order[static_cast<std::size_t>(back(half, steps))];
  };
  const auto block_back = [&](const Half& half, int steps) { return half.first_block + back(half, steps); };

  for (int step = 0; step < p - 1; ++step) {
    for (Half& half : halves) {
      half.lowest_arriving = std::min(half.lowest_arriving, rank_back(half, step + 1));
      const int leaving = block_back(half, step);
      const int arriving = block_back(half, step + 1);
      schedule.send(step == 0 ? input(leaving) : output(leaving), rank_back(half, -1));
      schedule.recv_reduce(output(arriving), input(arriving), rank_back(half, 1),
                           half.lowest_arriving < rank ? Side::left : Side::right);
    }
    schedule.end_round();
  }
  for (int step = 0; step < p - 1; ++step) {
    for (const Half& half : halves) {
      schedule.send(output(block_back(half, step - 1)), rank_back(half, -1));
      schedule.recv(output(block_back(half, step)), rank_back(half, 1));
    }
    schedule.end_round();
  }
  return schedule;
}

}  // namespace stretto::allreduce
