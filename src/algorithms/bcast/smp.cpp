// SPDX-License-Identifier: Apache-2.0
// SMP, the broadcast by leaders: any broadcast among the nodes' leaders, of which the root is one, then a
// broadcast inside each node. Each node receives the message once, however ranks are mapped. A tree that is
// not node-aware does so only if nodes hold aligned runs of ranks.
//
// Inside a node there are binomial trees of the whole message, first among the leaders of its sockets (or
// NUMA domains), then inside those: log2(ppn) rounds. Source: section II-A of Bienz, Olson and Gropp,
// Node-aware improvements to allreduce, 2019.
#include "algorithms/bcast/bcast.hpp"
#include "algorithms/levels.hpp"

namespace stretto::bcast {

Schedule smp(const Task& task, int rank) {
  const Topology& topology = task.topology;
  // All ranks build it, since all must agree on the number of blocks.
  const Schedule across =
      build(task.parts[0], topology.of_leaders(), topology.node(task.root), topology.node(rank));
  const Levels levels(topology, rank, task.root);
  Schedule schedule(task.ranks(), rank, across.blocks());
  if (levels.leads_node()) schedule.append(across, {.ranks = leaders_of_nodes(topology, task.root)});
  levels.append_bcast(schedule);
  return schedule;
}

}  // namespace stretto::bcast
