// SPDX-License-Identifier: Apache-2.0
// Linear: every rank sends its block to all others at once. One round of p-1 messages of one block. No
// message waits for another one, so this suits few ranks and small blocks. Ranks begin with the next rank, so
// that not all send to the same one first. A rank's own block is copied last, since in place it is sent from
// the output.
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
