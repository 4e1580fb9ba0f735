// SPDX-License-Identifier: Apache-2.0
// SMP, the allreduce by leaders: a reduce inside each node to its leader, an allreduce of any kind among the
// leaders, a broadcast inside each node. What is the same for all ranks of a node crosses its link once,
// where an algorithm that is blind to nodes may send it ppn times; but one rank of a node does all the work
// between nodes. For small messages, and where a node has many ranks.
//
// Inside a node: binomial trees of the whole message, first inside its sockets (or NUMA domains), then among
// their leaders: 2 log2(ppn) rounds. Rank order is kept where all of these groups are runs of ranks and the
// leaders' allreduce keeps it.
//
// Source: section II-A of Bienz, Olson and Gropp, Node-aware improvements to allreduce, 2019.
#include "algorithms/allreduce/allreduce.hpp"
#include "algorithms/levels.hpp"

namespace stretto::allreduce {

Schedule smp(const Task& task, int rank) {
  const Topology& topology = task.topology;
  // Built on all ranks, since all must agree on the number of blocks.
  const Schedule across = build(task.parts[0], Topology::flat(topology.nodes), 0, topology.node(rank));
  const Levels levels(topology, rank, task.root);
  Schedule schedule(task.ranks(), rank, across.blocks());
  const Place partial = levels.append_reduce(schedule, {.buffer = Buffer::output});
  if (levels.leads_node()) {
    schedule.append(across, {.ranks = leaders_of_nodes(topology, task.root), .input = partial.buffer});
  }
  levels.append_bcast(schedule);
  return schedule;
}

}  // namespace stretto::allreduce
