// SPDX-License-Identifier: Apache-2.0
// Linear: every rank sends its block to every other one, all at once. One round of p-1 messages of one block:
// no message waits for another, which suits few ranks and small blocks. Ranks begin with the one behind them,
// so that not all knock at the same door. The own block is copied last: in place it lies where it is sent
// from.
#include "algorithms/allgather/allgather.hpp"

namespace stretto::allgather {

Schedule linear(const Task& task, int rank) {
  const int p = task.ranks();
  Schedule schedule(p, rank, p);
  for (int shift = 1; shift < p; ++shift) {
    const int from = (rank + p - shift) % p;
    schedule.send(input(rank), (rank + shift) % p).recv(output(from), from);
  }
  return schedule.end_round().copy(output(rank), input(rank)).end_round();
}

}  // namespace stretto::allgather
