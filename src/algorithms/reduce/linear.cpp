// SPDX-License-Identifier: Apache-2.0
// Linear: the root receives one contribution after the other, p-1 rounds of the whole message, and needs no
// memory besides its result. It suits few ranks, and comparisons.
//
// The root goes through the ranks below it downwards and puts each contribution on the left, then through
// those above it upwards. So rank order is kept. Source: textbook.
#include "algorithms/reduce/reduce.hpp"

namespace stretto::reduce {

Schedule linear(const Task& task, int rank) {
  const int p = task.ranks();
  Schedule schedule(p, rank, 1);
  if (rank != task.root) return schedule.send(input(0), task.root).end_round();

  Slice mine = input(0);
  const auto take_in = [&](int other, Side side) {
    schedule.recv_reduce(output(0), mine, other, side).end_round();
    mine = output(0);
  };
  for (int other = rank - 1; other >= 0; --other) take_in(other, Side::left);
  for (int other = rank + 1; other < p; ++other) take_in(other, Side::right);
  return schedule;
}

}  // namespace stretto::reduce
