// SPDX-License-Identifier: Apache-2.0
// Rabenseifner's algorithm (RSA in Table 1 of the pipelined paper): a reduce-scatter by recursive halving,
// then an allgather by recursive doubling. 2 log2(p) rounds, and as few bytes as a ring when p is a power of
// two. When it is none, the extra ranks hand over their whole message to a neighbour first and get the whole
// result at the end.
//
// The distance grows (1, 2, 4, …) while the part that a rank is left with shrinks: partners then always hold
// neighbouring runs of ranks, which keeps rank order. Partners of a round are in charge of the same run of
// blocks; the lower one goes on with its lower half. The allgather undoes the halvings in reverse order.
#include <vector>

#include "algorithms/allreduce/allreduce.hpp"
#include "algorithms/powers.hpp"

namespace stretto::allreduce {
namespace {

struct Halving {
  int partner;
  int kept;   // first block of the half that this rank goes on with
  int given;  // first block of the half that the partner goes on with
  int count;  // blocks of a half
};

std::vector<Halving> halvings(const PowerCore& core, int me) {
  std::vector<Halving> steps;
  int first = 0;
  for (int distance = 1; distance < core.size(); distance *= 2) {
    const int half = core.size() / (2 * distance);
    const bool upper = (me & distance) != 0;
    steps.push_back({.partner = core.rank_of(me ^ distance),
                     .kept = first + (upper ? half : 0),
                     .given = first + (upper ? 0 : half),
                     .count = half});
    first = steps.back().kept;
  }
  return steps;
}

}  // namespace

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

  const std::vector<Halving> steps = halvings(core, core.core_of(rank));
  for (const Halving& step : steps) {
    schedule.send({mine, step.given, step.count}, step.partner);
    schedule.recv_reduce(output(step.kept, step.count), {mine, step.kept, step.count}, step.partner,
                         step.partner < rank ? Side::left : Side::right);
    schedule.end_round();
    mine = Buffer::output;
  }
  for (std::size_t left = steps.size(); left > 0; --left) {
    const Halving& step = steps[left - 1];
    schedule.send(output(step.kept, step.count), step.partner);
    schedule.recv(output(step.given, step.count), step.partner);
    schedule.end_round();
  }

  if (core.is_paired(rank)) schedule.send(output(0, blocks), rank - 1).end_round();
  return schedule;
}

}  // namespace stretto::allreduce
