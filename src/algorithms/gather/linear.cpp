// SPDX-License-Identifier: Apache-2.0
// Linear: the root receives every block directly from its owner, r-1 at a time for radix r. The window keeps
// long messages, whose senders wait for the receive, from meeting at the root (incast). Least bytes, p-1
// messages for the root.
#include <algorithm>

#include "algorithms/gather/gather.hpp"

namespace stretto::gather {

Schedule linear(const Task& task, int rank) {
  const int p = task.ranks();
  const int window = task.radix - 1;
  Schedule schedule(p, rank, p);
  if (rank != task.root) return schedule.send(input(rank), task.root).end_round();
  schedule.copy(output(rank), input(rank));
  for (int first = 1; first < p; first += window) {
    for (int shift = first; shift < std::min(first + window, p); ++shift) {
      const int from = (rank + shift) % p;
      schedule.recv(output(from), from);
    }
    schedule.end_round();
  }
  return schedule.end_round();
}

}  // namespace stretto::gather
