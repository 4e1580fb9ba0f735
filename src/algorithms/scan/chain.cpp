// SPDX-License-Identifier: Apache-2.0
// Chain: each rank puts the result of the rank before on the left of its contribution and sends the sum on.
// p-1 rounds of the whole message, but no rank sends it more than once. If the message is cut into many
// segments, all links and all ranks' arithmetic work at the same time, which suits long messages. Source:
// textbook.
#include "algorithms/scan/scan.hpp"

namespace stretto::scan {

Schedule chain(const Task& task, int rank) {
  const int p = task.ranks();
  Schedule schedule(p, rank, 1);
  if (rank == 0) {
    if (p > 1) schedule.send(input(0), 1).end_round();
    return schedule.copy(output(0), input(0)).end_round();
  }
  schedule.recv_reduce(output(0), input(0), rank - 1, Side::left).end_round();
  if (rank + 1 < p) schedule.send(output(0), rank + 1);
  return schedule.end_round();
}

Schedule chain_exclusive(const Task& task, int rank) {
  const int p = task.ranks();
  Schedule schedule(p, rank, 1);
  if (rank == 0) {
    if (p > 1) schedule.send(input(0), 1);
    return schedule.end_round();
  }
  if (rank + 1 == p) return schedule.recv(output(0), rank - 1).end_round();
  // In place, the contribution must be used before the result of the rank before overwrites it.
  const Slice before = scratch(schedule.add_scratch(0));
  const Slice sum = scratch(schedule.add_scratch(0));
  schedule.recv(before, rank - 1).end_round();
  schedule.reduce(sum, before, input(0)).end_round();
  return schedule.send(sum, rank + 1).copy(output(0), before).end_round();
}

}  // namespace stretto::scan
