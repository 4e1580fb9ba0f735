// SPDX-License-Identifier: Apache-2.0
// Recursive doubling (RDB in Table 1 of the pipelined paper): in round i, ranks at distance 2^i exchange all
// that they hold and reduce it. log2(p) rounds of the whole message, so it suits small messages. If p is no
// power of two, there are two more rounds (among_core.hpp).
//
// Two partners hold the contributions of neighbouring runs of ranks, so rank order is kept. Both compute the
// same expression, so both get the same bits.
#include "algorithms/allreduce/allreduce.hpp"
#include "algorithms/allreduce/among_core.hpp"

namespace stretto::allreduce {

Schedule recursive_doubling(const Task& task, int rank) {
  const Core core(task.ranks());
  return among_core(core, task.ranks(), rank, 1, [&](Schedule& schedule, Buffer mine) {
    // The partner's part arrives in scratch: ours is still being sent.
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
