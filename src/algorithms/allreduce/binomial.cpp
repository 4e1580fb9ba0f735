// SPDX-License-Identifier: Apache-2.0
// Binomial (BIN in Table 1 of the pipelined paper): a binomial tree reduces to rank 0, then the same tree
// broadcasts. 2 log2(p) rounds of the whole message.
//
// In the reduction a rank takes in, nearest first, the runs of ranks right above its own: rank order is kept.
// The broadcast walks the same tree downwards, farthest child first, since that child has the most to pass
// on.
#include "algorithms/allreduce/allreduce.hpp"

namespace stretto::allreduce {

Schedule binomial(const Topology& topology, int rank) {
  const int p = topology.ranks();
  Schedule schedule(p, rank, 1);
  if (p == 1) return schedule.copy(output(0), input(0)).end_round();

  Slice mine = input(0);
  int distance = 1;  // at the end: to the parent, or at rank 0 beyond the farthest child
  for (; distance < p && (rank & distance) == 0; distance *= 2) {
    if (rank + distance >= p) continue;
    schedule.recv_reduce(output(0), mine, rank + distance, Side::right).end_round();
    mine = output(0);
  }
  if (rank != 0) {
    schedule.send(mine, rank - distance).end_round();
    schedule.recv(output(0), rank - distance).end_round();
  }
  for (distance /= 2; distance >= 1; distance /= 2) {
    if (rank + distance < p) schedule.send(output(0), rank + distance);
  }
  return schedule.end_round();
}

}  // namespace stretto::allreduce
