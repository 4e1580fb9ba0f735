// SPDX-License-Identifier: Apache-2.0
// By node: the leader of each node collects the blocks of its ranks and sends them to the root in one
// message. The root leads its own node. Two rounds, one message for each other node over the root's link.
#include "algorithms/gather/gather.hpp"
#include "algorithms/levels.hpp"

namespace stretto::gather {

Schedule smp(const Task& task, int rank) {
  const Topology& topology = task.topology;
  const int p = task.ranks();
  const int node = topology.node(rank);
  const std::vector<int> leaders = leaders_of_nodes(topology, task.root);
  const int leader = leaders[static_cast<std::size_t>(node)];
  const auto on_node = topology.on_node(node);
  Schedule schedule(p, rank, p);
  if (rank != leader) return schedule.send(input(rank), leader).end_round();

  const bool is_root = rank == task.root;
  int first = 0;
  if (!is_root) {
    for (const int one : on_node) {
      const int added = schedule.add_scratch(one);
      if (one == on_node.front()) first = added;
    }
  }
  for (std::size_t place = 0; place < on_node.size(); ++place) {
    const int from = on_node[place];
    const Slice into = is_root ? output(from) : scratch(first + static_cast<int>(place));
    if (from == rank) {
      schedule.copy(into, input(rank));
    } else {
      schedule.recv(into, from);
    }
  }
  schedule.end_round();
  if (!is_root) return schedule.send(scratch(first, static_cast<int>(on_node.size())), task.root).end_round();

  // If a node's ranks are not consecutive, the blocks from its leader are put in place afterwards.
  std::vector<std::pair<int, int>> landed;  // node, first scratch block
  for (int other = 0; other < topology.nodes; ++other) {
    if (other == node) continue;
    const auto ranks = topology.on_node(other);
    const auto count = static_cast<int>(ranks.size());
    Slice into = output(ranks.front(), count);
    if (ranks.back() - ranks.front() + 1 != count) {
      int begin = -1;
      for (const int one : ranks) {
        const int added = schedule.add_scratch(one);
        if (begin < 0) begin = added;
      }
      into = scratch(begin, count);
      landed.emplace_back(other, begin);
    }
    schedule.recv(into, leaders[static_cast<std::size_t>(other)]);
  }
  schedule.end_round();
  for (const auto& [other, begin] : landed) {
    const auto ranks = topology.on_node(other);
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      schedule.copy(output(ranks[i]), scratch(begin + static_cast<int>(i)));
    }
  }
  return schedule.end_round();
}

}  // namespace stretto::gather
