// SPDX-License-Identifier: Apache-2.0
// By node: the ranks of a node tell their leader that they have arrived, the leaders perform a dissemination
// with the radix, and each tells its ranks that all have arrived.
#include "algorithms/barrier/barrier.hpp"
#include "algorithms/levels.hpp"

namespace stretto::barrier {

Schedule smp(const Task& task, int rank) {
  const Topology& topology = task.topology;
  const int node = topology.node(rank);
  const auto on_node = topology.on_node(node);
  Schedule schedule(task.ranks(), rank, 1);
  const int leader = on_node.front();
  if (rank != leader) {
    schedule.send(input(0), leader).end_round();
    return schedule.recv(scratch(schedule.add_scratch(0)), leader).end_round();
  }
  for (const int from : on_node.subspan(1)) schedule.recv(scratch(schedule.add_scratch(0)), from);
  schedule.end_round();
  const std::vector<int> leaders = leaders_of_nodes(topology, leader);
  append_dissemination(schedule, topology.nodes, leaders, node, task.radix);
  for (const int to : on_node.subspan(1)) schedule.send(input(0), to);
  return schedule.end_round();
}

}  // namespace stretto::barrier
