// SPDX-License-Identifier: Apache-2.0
// SMP, the allreduce by leaders: a reduce inside each node to its leader, any allreduce among the leaders,
// and a broadcast inside each node. Data that is the same for all ranks of a node crosses its link once; an
// algorithm that is not node-aware may send it ppn times. But one rank of each node does all the work
// between nodes. It suits small messages, and nodes with many ranks.
//
// Inside a node there are binomial trees of the whole message, first inside its sockets (or NUMA domains),
// then among their leaders: 2 log2(ppn) rounds. Rank order is kept if all of these groups hold consecutive
// ranks and the leaders' allreduce keeps it.
//
// Source: section II-A of Bienz, Olson and Gropp, Node-aware improvements to allreduce, 2019.
#include "algorithms/allreduce/allreduce.hpp"
#include "algorithms/levels.hpp"

namespace stretto::allreduce {

Schedule smp(const Task& task, int rank) {
  const Topology& topology = task.topology;
  // All ranks build it, since all must agree on the number of blocks.
  const Schedule across = build(task.parts[0], topology.of_leaders(), 0, topology.node(rank));
  const Levels levels(topology, rank, task.root);
  Schedule schedule(task.ranks(), rank, across.blocks());
  const HeldBlock partial = levels.append_reduce(schedule, {.buffer = Buffer::output});
  if (levels.leads_node()) {
    schedule.append(across, {.ranks = leaders_of_nodes(topology, task.root), .input = partial.buffer});
  }
  levels.append_bcast(schedule);
  return schedule;
}

}  // namespace stretto::allreduce
