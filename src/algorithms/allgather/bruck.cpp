// SPDX-License-Identifier: Apache-2.0
// Bruck's algorithm (Bruck, Ho, Kipnis, Upfal and Weathersby 1997): a rank holds the blocks from its own on.
// In round i it receives as many again, from the rank 2^i places ahead. ⌈log2 p⌉ rounds for any p, the
// fewest possible, and as few bytes as a ring.
//
// Blocks go directly to their place in the output, so there is no rotation at the end. A run that goes past
// the last block is two slices, and so two messages.
#include <algorithm>

#include "algorithms/allgather/allgather.hpp"

namespace stretto::allgather {

Schedule bruck(const Task& task, int rank) {
  const int p = task.ranks();
  Schedule schedule(p, rank, p);
  schedule.copy(output(rank), input(rank)).end_round();
  for (int held = 1; held < p; held *= 2) {
    const int count = std::min(held, p - held);
    const int to = (rank + p - held) % p;
    const int from = (rank + held) % p;
    const auto before_the_end = [&](int first) { return std::min(count, p - first); };
    const auto past_the_end = [&](int first) { return count - before_the_end(first); };
    schedule.send(output(rank, before_the_end(rank)), to);
    schedule.recv(output(from, before_the_end(from)), from);
    if (past_the_end(rank) > 0) schedule.send(output(0, past_the_end(rank)), to);
    if (past_the_end(from) > 0) schedule.recv(output(0, past_the_end(from)), from);
    schedule.end_round();
  }
  return schedule;
}

}  // namespace stretto::allgather
