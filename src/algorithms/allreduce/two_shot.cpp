// SPDX-License-Identifier: Apache-2.0
// Two-shot: block b belongs to rank b. Every rank sends its contributions to their owners, all at once; each
// owner reduces its block, and sends the result to all others, all at once. Two rounds of p-1 messages, and
// 2(p-1)/p of the message, the least for any p.
//
// It is for ranks that share memory. There a round costs one wait, however many messages it has. An owner's
// result is written once for all others (a publication), and an owner reads the contributions where their
// senders wrote them (engine/execution/direct_plan.hpp). Over a network, all ranks would send to one at a
// time; `pairwise` spreads the same messages over rounds.
//
// The owner computes the fixed tree, for any p.
//
// Source: the direct reduce-scatter of DPML (Bayatpour et al. 2017, "Scalable Reduction Collectives with Data
// Partitioning-based Multi-Leader Design"). Libraries for GPUs call it two-shot.
#include "algorithms/allgather/allgather.hpp"
#include "algorithms/allreduce/allreduce.hpp"
#include "algorithms/allreduce/reduce_in_fixed_tree.hpp"
#include "algorithms/bring_to_owners.hpp"

namespace stretto::allreduce {

Schedule two_shot(const Task& task, int rank) {
  const int p = task.ranks();
  Schedule schedule(p, rank, p);
  reduce_in_fixed_tree(schedule, bring_to_owners(schedule, Pace::at_once), output(rank));
  return schedule.append(allgather::linear(task, rank), {.input = Buffer::output});
}

}  // namespace stretto::allreduce
