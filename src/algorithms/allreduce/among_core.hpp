// SPDX-License-Identifier: Apache-2.0
// Shared by the allreduces that run among a core of the ranks.
#pragma once

#include <cstddef>
#include <span>

#include "algorithms/core.hpp"
#include "algorithms/registry.hpp"

namespace stretto::allreduce {

/// The extra ranks first send their message to a neighbour and receive the result at the end: two more
/// rounds. `in_core(schedule, mine)` appends the actions of a rank of the core. It begins with its
/// contribution in all blocks of the buffer `mine`, and ends with the result in the output.
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

/// A step in which partners hold the same run of blocks, and each continues with one half.
struct HalvingWith {
  int partner;
  Side arriving;  // the side of the partner's operand
  int kept;       // first block of the half that this rank continues with
  int given;      // first block of the half that the partner continues with
  int count;      // blocks of a half
};

/// Appends a reduce-scatter by these steps, then an allgather that undoes them in reverse order.
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
