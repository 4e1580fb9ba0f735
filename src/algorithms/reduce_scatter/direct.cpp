// SPDX-License-Identifier: Apache-2.0
// Direct: every rank sends its contributions to the owners of their blocks, all at once, and reduces the
// contributions to its own block. One round of p-1 messages, and as few bytes as a ring. It is the first half
// of a two-shot allreduce, for ranks that share memory: see algorithms/allreduce/two_shot.cpp. Over a
// network, `pairwise` spreads the same messages over rounds. The owner computes the fixed tree, for any p.
#include "algorithms/bring_to_owners.hpp"
#include "algorithms/reduce_scatter/reduce_brought.hpp"
#include "algorithms/reduce_scatter/reduce_scatter.hpp"

namespace stretto::reduce_scatter {

Schedule direct(const Task& task, int rank) {
  Schedule schedule(task.ranks(), rank, task.ranks());
  reduce_brought(schedule, bring_to_owners(schedule, Pace::at_once));
  return schedule;
}

}  // namespace stretto::reduce_scatter
