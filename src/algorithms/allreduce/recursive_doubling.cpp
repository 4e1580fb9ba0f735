// SPDX-License-Identifier: Apache-2.0
// Recursive doubling (RDB in Table 1 of the pipelined paper): in round i, ranks at distance 2^i exchange all
// that they hold and reduce. log2(p) rounds of the whole message: the choice for small ones. When p is no
// power of two, the extra ranks hand over to a neighbour first and get the result at the end: two more
// rounds.
//
// What two partners hold comes from neighbouring runs of ranks, so that rank order is kept, and both compute
// the same expression, so that both get the same bits.
#include "algorithms/allreduce/allreduce.hpp"
#include "algorithms/powers.hpp"

namespace stretto::allreduce {

Schedule recursive_doubling(const Task& task, int rank) {
  const int p = task.ranks();
  Schedule schedule(p, rank, 1);
  if (p == 1) return schedule.copy(output(0), input(0)).end_round();

  const PowerCore core(p);
  if (core.hands_over(rank)) {
    schedule.send(input(0), rank + 1).end_round();
    return schedule.recv(output(0), rank + 1).end_round();
  }
  Slice mine = input(0);
  if (core.is_paired(rank)) {
    schedule.recv_reduce(output(0), mine, rank - 1, Side::left).end_round();
    mine = output(0);
  }

  // The partner's part lands beside ours, since ours is being sent from while it arrives.
  const Slice theirs = scratch(schedule.add_scratch(0));
  const int me = core.core_of(rank);
  for (int distance = 1; distance < core.size(); distance *= 2) {
    const int partner = core.rank_of(me ^ distance);
    schedule.send(mine, partner).recv(theirs, partner).end_round();
    if (partner < rank) {
      schedule.reduce(output(0), theirs, mine).end_round();
    } else {
      schedule.reduce(output(0), mine, theirs).end_round();
    }
    mine = output(0);
  }

  if (core.is_paired(rank)) schedule.send(output(0), rank - 1).end_round();
  return schedule;
}

}  // namespace stretto::allreduce
