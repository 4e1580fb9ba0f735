// SPDX-License-Identifier: Apache-2.0
// Recursive doubling (RDB in Table 1 of the pipelined paper): in round i, ranks at distance 2^i exchange all
// that they hold and reduce. log2(p) rounds of the whole message: the choice for small ones. Two more when p
// is no power of two (among_core.hpp).
//
// What two partners hold comes from neighbouring runs of ranks, so that rank order is kept, and both compute
// the same expression, so that both get the same bits.
#include "algorithms/allreduce/allreduce.hpp"
#include "algorithms/allreduce/among_core.hpp"

namespace stretto::allreduce {

Schedule recursive_doubling(const Task& task, int rank) {
  const Core core(task.ranks());
  return among_core(core, task.ranks(), rank, 1, [&](Schedule& schedule, Buffer mine) {
    // The partner's part lands beside ours, since ours is being sent from while it arrives.
    const Slice theirs = scratch(schedule.add_scratch(0));
    const int me = core.core_of(rank);
    for (int distance = 1; distance < core.size(); distance *= 2) {
      const int partner = core.rank_of(me ^ distance);
      const Slice ours{mine, 0, 1};
      schedule.send(ours, partner).recv(theirs, partner).end_round();
      if (partner < rank) {
        schedule.reduce(output(0), theirs, ours).end_round();
      } else {
        schedule.reduce(output(0), ours, theirs).end_round();
      }
      mine = Buffer::output;
    }
  });
}

}  // namespace stretto::allreduce
