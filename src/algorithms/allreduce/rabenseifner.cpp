// SPDX-License-Identifier: Apache-2.0
// Rabenseifner's algorithm (RSA in Table 1 of the pipelined paper): a reduce-scatter by recursive halving,
// then an allgather by recursive doubling. 2 log2(p) rounds, and as few bytes as a ring when p is a power of
// two. When it is none, the extra ranks hand over their whole message to a neighbour first and get the whole
// result at the end.
//
// The halving keeps rank order (halvings.hpp). The allgather undoes its steps in reverse order.
#include <cstddef>
#include <vector>

#include "algorithms/allreduce/allreduce.hpp"
#include "algorithms/halvings.hpp"
#include "algorithms/powers.hpp"

namespace stretto::allreduce {
Schedule rabenseifner(const Task& task, int rank) {
  const int p = task.ranks();
  const PowerCore core(p);
  const int blocks = core.size();
  Schedule schedule(p, rank, blocks);
  if (p == 1) return schedule.copy(output(0), input(0)).end_round();

  if (core.hands_over(rank)) {
    schedule.send(input(0, blocks), rank + 1).end_round();
    return schedule.recv(output(0, blocks), rank + 1).end_round();
  }
  Buffer mine = Buffer::input;
  if (core.is_paired(rank)) {
    schedule.recv_reduce(output(0, blocks), input(0, blocks), rank - 1, Side::left).end_round();
    mine = Buffer::output;
  }

  const int me = core.core_of(rank);
  const std::vector<Halving> steps = halvings(core.size(), me);
  for (const Halving& step : steps) {
    const int partner = core.rank_of(me ^ step.distance);
    schedule.send({mine, step.given, step.count}, partner);
    schedule.recv_reduce(output(step.kept, step.count), {mine, step.kept, step.count}, partner,
                         partner < rank ? Side::left : Side::right);
    schedule.end_round();
    mine = Buffer::output;
  }
  for (std::size_t left = steps.size(); left > 0; --left) {
    const Halving& step = steps[left - 1];
    const int partner = core.rank_of(me ^ step.distance);
    schedule.send(output(step.kept, step.count), partner);
    schedule.recv(output(step.given, step.count), partner);
    schedule.end_round();
  }

  if (core.is_paired(rank)) schedule.send(output(0, blocks), rank - 1).end_round();
  return schedule;
}

}  // namespace stretto::allreduce
