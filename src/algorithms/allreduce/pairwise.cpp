// SPDX-License-Identifier: Apache-2.0
// Pairwise exchange: block b belongs to rank b. In round s, rank r sends its contribution to block r+s
// directly to rank r+s, and receives the contribution of rank r-s to its own block. When it has them all it
// reduces them. The finished blocks are exchanged in the same way. 2(p-1) rounds and 2(p-1)/p of the
// message, the least for any p: as with a ring, but every contribution takes one step instead of up to p-1.
//
// No rank reduces on the way, so the owner may choose the order: it computes the fixed tree, for any p. That
// makes it the large-message algorithm for reproducible results and for operations that do not commute. The
// price is scratch for p-1 contributions to a block, about a message in all, and a reduction that begins
// only with the last contribution.
//
// Source: the pairwise-exchange reduce-scatter of Thakur, Rabenseifner, Gropp 2005, "Optimization of
// Collective Communication Operations in MPICH", with a postponed reduction.
#include "algorithms/allreduce/allreduce.hpp"
#include "algorithms/allreduce/reduce_in_fixed_tree.hpp"
#include "algorithms/bring_to_owners.hpp"

namespace stretto::allreduce {

Schedule pairwise(const Task& task, int rank) {
  const int p = task.ranks();
  Schedule schedule(p, rank, p);
  reduce_in_fixed_tree(schedule, bring_to_owners(schedule, Pace::one_a_round), output(rank));
  for (int step = 1; step < p; ++step) {
    const int from = (rank + p - step) % p;
    schedule.send(output(rank), (rank + step) % p).recv(output(from), from).end_round();
  }
  return schedule;
}

}  // namespace stretto::allreduce
