// SPDX-License-Identifier: Apache-2.0
// Linear: every block goes directly to the rank that it is for, r-1 at a time for radix r: in each round to
// the next ranks ahead and from the next ones behind. The window keeps many senders from meeting at one
// receiver (incast), and bounds the messages in flight. Least bytes, ⌈(p-1)/(r-1)⌉ rounds.
#include <algorithm>

#include "algorithms/alltoall/alltoall.hpp"

namespace stretto::alltoall {

Schedule linear(const Task& task, int rank) {
  const int p = task.ranks();
  const int window = task.radix - 1;
  Schedule schedule(p, rank, p);
  schedule.copy(output(rank), input(rank));
  for (int first = 1; first < p; first += window) {
    for (int shift = first; shift < std::min(first + window, p); ++shift) {
      const int to = (rank + shift) % p;
      const int from = (rank + p - shift) % p;
      schedule.recv(output(from), from).send(input(to), to);
    }
    schedule.end_round();
  }
  return schedule.end_round();
}

}  // namespace stretto::alltoall
