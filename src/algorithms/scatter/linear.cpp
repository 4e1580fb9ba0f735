// SPDX-License-Identifier: Apache-2.0
// Linear: the root sends every block directly to its rank, r-1 at a time for radix r. Least bytes, p-1
// messages for the root.
#include <algorithm>

#include "algorithms/scatter/scatter.hpp"

namespace stretto::scatter {

Schedule linear(const Task& task, int rank) {
  const int p = task.ranks();
  const int window = task.radix - 1;
  Schedule schedule(p, rank, p);
  if (rank != task.root) return schedule.recv(output(rank), task.root).end_round();
  for (int first = 1; first < p; first += window) {
    for (int shift = first; shift < std::min(first + window, p); ++shift) {
      const int to = (rank + shift) % p;
      schedule.send(input(to), to);
    }
    schedule.end_round();
  }
  return schedule.copy(output(rank), input(rank)).end_round();
}

}  // namespace stretto::scatter
