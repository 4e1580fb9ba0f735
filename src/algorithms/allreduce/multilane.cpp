// SPDX-License-Identifier: Apache-2.0
// Multi-lane: the message is cut into L lanes (L = min ppn). Local rank l of every node handles lane l, and
// L allreduces among the nodes run side by side, one for each lane. It suits large messages where one rank
// cannot fill the node's link: each node sends and receives no more than with a leader's allreduce, but L
// ranks share the work, between the nodes and inside them.
//
// On a node of m ranks, a reduce-scatter comes first and an allgather last. Each is a direct exchange in m-1
// rounds: in round s, rank l sends to l+s and receives from l-s (mod m), so no rank is sent to twice in a
// round. A rank sends (m-1)/L of the message in each of the two.
//
// Inside a node the contributions are reduced in rank order (lanes.cpp). So rank order is kept if each node
// holds consecutive ranks and the lanes' allreduce keeps it.
//
// Source: the lanes are those of Träff, Decomposing collectives for exploiting multi-lane communication,
// 2019 (arXiv 1910.13373); the exchange inside a node is ours.
#include <cstddef>
#include <vector>

#include "algorithms/allreduce/allreduce.hpp"
#include "algorithms/allreduce/lanes.hpp"

namespace stretto::allreduce {

Schedule multilane(const Task& task, int rank) {
  const Topology& topology = task.topology;
  const int number = topology.node(rank);
  const Schedule across = build(task.parts[0], topology.of_leaders(), 0, number);
  const Lanes node{.ranks = topology.on_node(number),
                   .me = topology.place(rank),
                   .begins = Lanes::alike(topology.min_ppn, across.blocks())};
  Schedule schedule(task.ranks(), rank, node.blocks());
  node.append_reduce_scatter(schedule);
  if (node.has_lane()) {
    std::vector<int> lane_ranks(static_cast<std::size_t>(topology.nodes));
    for (int other = 0; other < topology.nodes; ++other) {
      lane_ranks[static_cast<std::size_t>(other)] = topology.rank_at(other, node.me);
    }
    node.append_across(schedule, across, lane_ranks);
  }
  node.append_allgather(schedule, Pace::one_a_round);
  return schedule;
}

}  // namespace stretto::allreduce
