// SPDX-License-Identifier: Apache-2.0
// What allreduces have in common that go on in a core of the ranks.
#pragma once

#include <cstddef>
#include <span>

#include "algorithms/core.hpp"
#include "algorithms/registry.hpp"

namespace stretto::allreduce {

/// The extra ranks hand over their message to a neighbour first and get the result at the end: two more
/// rounds. `in_core(schedule, mine)` appends what a rank of the core does: it begins with its contribution in
/// all blocks of the buffer `mine`, and ends with the result in those of the output.
template <typename InCore>
Schedule among_core(const Core& core, int p, int rank, int blocks, InCore in_core) {
  Schedule schedule(p, rank, blocks);
  if (p == 1) return schedule.copy(output(0, blocks), input(0, blocks)).end_round();
  if (core.hands_over(rank)) {
    schedule.send(input(0, blocks), rank + 1).end_round();
    return schedule.recv(output(0, blocks), rank + 1).end_round();
  }
  Buffer mine = Buffer::input;
  if (core.is_paired(rank)) {
    schedule.recv_reduce(output(0, blocks), input(0, blocks), rank - 1, Side::left).end_round();
    mine = Buffer::output;
  }
  in_core(schedule, mine);
  if (core.is_paired(rank)) schedule.send(output(0, blocks), rank - 1).end_round();
  return schedule;
}

/// A step in which partners are in charge of the same run of blocks, and each goes on with a half.
struct HalvingWith {
  int partner;
  Side arriving;  // the side of the partner's operand
  int kept;       // first block of the half that this rank goes on with
  int given;      // first block of the half that the partner goes on with
  int count;      // blocks of a half
};

/// A reduce-scatter by these steps, then an allgather that undoes them in reverse order.
inline void halve_and_double(Schedule& schedule, Buffer mine, std::span<const HalvingWith> steps) {
  for (const HalvingWith& step : steps) {
    schedule.send({mine, step.given, step.count}, step.partner);
    schedule.recv_reduce(output(step.kept, step.count), {mine, step.kept, step.count}, step.partner,
                         step.arriving);
    schedule.end_round();
    mine = Buffer::output;
  }
  for (std::size_t left = steps.size(); left > 0; --left) {
    const HalvingWith& step = steps[left - 1];
    schedule.send(output(step.kept, step.count), step.partner);
    schedule.recv(output(step.given, step.count), step.partner);
    schedule.end_round();
  }
}

}  // namespace stretto::allreduce
