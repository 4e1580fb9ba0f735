// SPDX-License-Identifier: Apache-2.0
// Two-shot: block b belongs to rank b. Every rank sends its contributions to their owners, all at once; each
// owner reduces its block, and sends the result to all others, all at once. Two rounds of p-1 messages, and
// 2(p-1)/p of the message, the least for any p.
//
// It is for ranks that share memory. There a round costs one wait, however many messages it has, what an
// owner sends to all is written once (a publication), and an owner reads the contributions where their
// senders wrote them (engine/execution/direct_plan.hpp). Over a network, all ranks would send to one at a
// time; `pairwise` spreads the same messages over rounds.
//
// The owner computes the fixed tree, for any p.
//
// Source: the direct reduce-scatter of DPML (Bayatpour et al. 2017, "Scalable Reduction Collectives with Data
// Partitioning-based Multi-Leader Design"). Libraries for GPUs call it two-shot.
#include <vector>

#include "algorithms/allreduce/allreduce.hpp"
#include "algorithms/allreduce/reduce_in_fixed_tree.hpp"

namespace stretto::allreduce {

Schedule two_shot(const Task& task, int rank) {
  const int p = task.ranks();
  Schedule schedule(p, rank, p);
  if (p == 1) return schedule.copy(output(0), input(0)).end_round();

  std::vector<Slice> contributions(static_cast<std::size_t>(p), input(rank));
  // Each rank begins with the rank after itself, so that not all send to the same one at once.
  for (int ahead = 1; ahead < p; ++ahead) {
    const int to = (rank + ahead) % p;
    const int from = (rank + p - ahead) % p;
    const Slice theirs = scratch(schedule.add_scratch(rank));
    contributions[static_cast<std::size_t>(from)] = theirs;
    schedule.send(input(to), to).recv(theirs, from);
  }
  schedule.end_round();
  reduce_in_fixed_tree(schedule, contributions, output(rank));
  for (int ahead = 1; ahead < p; ++ahead) {
    const int from = (rank + p - ahead) % p;
    schedule.send(output(rank), (rank + ahead) % p).recv(output(from), from);
  }
  return schedule.end_round();
}

}  // namespace stretto::allreduce
