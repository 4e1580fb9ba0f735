// SPDX-License-Identifier: Apache-2.0
// Pairwise exchange (Thakur, Rabenseifner and Gropp 2005): in round s a rank sends the rank s places ahead
// its block, directly from the input, and receives its own block from the rank s places behind. p-1 rounds
// of one block, and as few bytes as a ring. No message waits for the reduction of another one, but each
// crosses the network between its two ranks, however far that is.
//
// All contributions to a block meet on its owner, so they can be reduced in any order. The owner computes
// the fixed tree, which keeps rank order and makes results depend on p alone. The price is memory for p-1
// blocks, about a message if blocks are equal.
#include <utility>
#include <vector>

#include "algorithms/reduce_scatter/reduce_brought.hpp"
#include "algorithms/reduce_scatter/reduce_scatter.hpp"

namespace stretto::reduce_scatter {

Schedule pairwise(const Task& task, int rank) {
  const int p = task.ranks();
  Schedule schedule(p, rank, p);
  std::vector<Slice> brought(static_cast<std::size_t>(p), input(rank));
  for (int shift = 1; shift < p; ++shift) {
    const int to = (rank + shift) % p;
    const int from = (rank + p - shift) % p;
    const Slice landing = scratch(schedule.add_scratch(rank));
    schedule.send(input(to), to).recv(landing, from).end_round();
    brought[static_cast<std::size_t>(from)] = landing;
  }
  reduce_brought(schedule, std::move(brought));
  return schedule;
}

}  // namespace stretto::reduce_scatter
