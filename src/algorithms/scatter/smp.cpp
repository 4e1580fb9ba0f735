// SPDX-License-Identifier: Apache-2.0
// By node: the root sends the leader of each node the blocks of all its ranks in one message, and the leader
// gives each rank its own. The root leads its own node. Two rounds, one message for each other node over the
// root's link.
#include <vector>

#include "algorithms/levels.hpp"
#include "algorithms/scatter/scatter.hpp"

namespace stretto::scatter {

Schedule smp(const Task& task, int rank) {
  const Topology& topology = task.topology;
  const int p = task.ranks();
  const int node = topology.node(rank);
  const std::vector<int> leaders = leaders_of_nodes(topology, task.root);
  const int leader = leaders[static_cast<std::size_t>(node)];
  const auto on_node = topology.on_node(node);
  Schedule schedule(p, rank, p);
  if (rank != leader) return schedule.recv(output(rank), leader).end_round();

  const bool is_root = rank == task.root;
  const auto add_for = [&](std::span<const int> ranks) {
    const auto begin = static_cast<int>(schedule.scratch_shape().size());
    for (const int one : ranks) schedule.add_scratch(one);
    return scratch(begin, static_cast<int>(ranks.size()));
  };
  Slice arrived;
  if (is_root) {
    // Where a node's ranks are not consecutive, their blocks are put together first.
    std::vector<Slice> leaving(static_cast<std::size_t>(topology.nodes));
    for (int other = 0; other < topology.nodes; ++other) {
      const auto ranks = topology.on_node(other);
      const auto count = static_cast<int>(ranks.size());
      Slice& from = leaving[static_cast<std::size_t>(other)] = input(ranks.front(), count);
      if (other == node || ranks.back() - ranks.front() + 1 == count) continue;
      from = add_for(ranks);
      for (int i = 0; i < count; ++i)
        schedule.copy(scratch(from.first + i), input(ranks[static_cast<std::size_t>(i)]));
    }
    schedule.end_round();
    for (int other = 0; other < topology.nodes; ++other) {
      const auto i = static_cast<std::size_t>(other);
      if (other != node) schedule.send(leaving[i], leaders[i]);
    }
  } else {
    arrived = add_for(on_node);
    schedule.recv(arrived, task.root);
  }
  schedule.end_round();
  for (std::size_t place = 0; place < on_node.size(); ++place) {
    const int to = on_node[place];
    const Slice from = is_root ? input(to) : scratch(arrived.first + static_cast<int>(place));
    if (to == rank) {
      schedule.copy(output(rank), from);
    } else {
      schedule.send(from, to);
    }
  }
  return schedule.end_round();
}

}  // namespace stretto::scatter
