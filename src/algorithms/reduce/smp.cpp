// SPDX-License-Identifier: Apache-2.0
// SMP, the reduce by leaders: a reduce inside each node to its leader, then any reduce among the leaders, of
// which the root is one. Each node sends the message once, however ranks are mapped.
//
// Inside a node there are binomial trees of the whole message, first inside its sockets (or NUMA domains),
// then among their leaders: log2(ppn) rounds. Leaders other than the root have no output, so their partial
// results are in scratch. Nodes are in the order of their lowest ranks, not of their leaders, as the order
// of operands requires. Rank order is kept if all of these groups hold consecutive ranks and the leaders'
// reduce keeps it.
//
// Source: section II-A of Bienz, Olson and Gropp, Node-aware improvements to allreduce, 2019.
#include "algorithms/levels.hpp"
#include "algorithms/reduce/reduce.hpp"

namespace stretto::reduce {

Schedule smp(const Task& task, int rank) {
  const Topology& topology = task.topology;
  // All ranks build it, since all must agree on the number of blocks.
  const Schedule across =
      build(task.parts[0], topology.of_leaders(), topology.node(task.root), topology.node(rank));
  const Levels levels(topology, rank, task.root);
  Schedule schedule(task.ranks(), rank, across.blocks());
  HeldBlock partial{.buffer = Buffer::output};
  if (rank != task.root && levels.leads_any()) {
    partial = {.buffer = Buffer::scratch, .first_scratch = schedule.add_scratch(0, across.blocks())};
  }
  const HeldBlock held = levels.append_reduce(schedule, partial);
  if (levels.leads_node()) {
    schedule.append(across, {.ranks = leaders_of_nodes(topology, task.root),
                             .input = held.buffer,
                             .input_scratch = held.first_scratch});
  }
  return schedule;
}

}  // namespace stretto::reduce
