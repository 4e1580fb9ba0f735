// SPDX-License-Identifier: Apache-2.0
// Pairwise exchange (Thakur, Rabenseifner and Gropp 2005): in round s, rank r sends rank r+s its contribution
// to that rank's block, directly from the input, and receives the contribution of rank r-s to its own block.
// p-1 rounds of one block, and as few bytes as a ring. No message waits for the reduction of another one, but
// each crosses the network between its two ranks, however far that is.
//
// All contributions to a block meet on its owner, so they can be reduced in any order. The owner computes
// the fixed tree, which keeps rank order and makes results depend on p alone. The price is memory for p-1
// blocks, about a message if blocks are equal.
#include "algorithms/bring_to_owners.hpp"
#include "algorithms/reduce_scatter/reduce_brought.hpp"
#include "algorithms/reduce_scatter/reduce_scatter.hpp"

namespace stretto::reduce_scatter {

Schedule pairwise(const Task& task, int rank) {
  Schedule schedule(task.ranks(), rank, task.ranks());
  reduce_brought(schedule, bring_to_owners(schedule, Pace::one_a_round));
  return schedule;
}

}  // namespace stretto::reduce_scatter
