// SPDX-License-Identifier: Apache-2.0
// Rabenseifner's algorithm (RSA in Table 1 of the pipelined paper): a reduce-scatter by recursive halving,
// then an allgather by recursive doubling. 2 log2(p) rounds; if p is a power of two, as few bytes as a ring.
// For any other p, the extra ranks first send their whole message to a neighbour and receive the whole
// result at the end.
//
// The halving keeps rank order (halvings.hpp). The allgather undoes its steps in reverse order.
#include <vector>

#include "algorithms/allreduce/allreduce.hpp"
#include "algorithms/allreduce/among_core.hpp"
#include "algorithms/halvings.hpp"

namespace stretto::allreduce {

Schedule rabenseifner(const Task& task, int rank) {
  const Core core(task.ranks());
  return among_core(core, task.ranks(), rank, core.size(), [&](Schedule& schedule, Buffer mine) {
    const int me = core.core_of(rank);
    std::vector<HalvingWith> steps;
    for (const Halving& step : halvings(core.size(), me)) {
      const int partner = core.rank_of(me ^ step.distance);
      steps.push_back({.partner = partner,
                       .arriving = partner < rank ? Side::left : Side::right,
                       .kept = step.kept,
                       .given = step.given,
                       .count = step.count});
    }
    halve_and_double(schedule, mine, steps);
  });
}

}  // namespace stretto::allreduce
