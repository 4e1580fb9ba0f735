// SPDX-License-Identifier: Apache-2.0
// Linear: rank 0 takes in the contributions one after the other, in rank order, and sends the result to all.
// 2(p-1) whole messages through one rank: for very few ranks, and the plainest statement of what an allreduce
// is.
#include "algorithms/allreduce/allreduce.hpp"

namespace stretto::allreduce {

Schedule linear(const Topology& topology, int rank) {
  const int p = topology.ranks();
  Schedule schedule(p, rank, 1);
  if (p == 1) return schedule.copy(output(0), input(0)).end_round();

  if (rank != 0) {
    schedule.send(input(0), 0).end_round();
    return schedule.recv(output(0), 0).end_round();
  }
  for (int peer = 1; peer < p; ++peer) {
    schedule.recv_reduce(output(0), peer == 1 ? input(0) : output(0), peer, Side::right).end_round();
  }
  for (int peer = 1; peer < p; ++peer) schedule.send(output(0), peer);
  return schedule.end_round();
}

}  // namespace stretto::allreduce
