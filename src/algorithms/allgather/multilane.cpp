// SPDX-License-Identifier: Apache-2.0
// Multilane: all ranks of a node (lanes) receive blocks from other nodes at once, each block once for the
// whole node, and exchange them inside the node. It follows Träff and Hunold 2020 (full-lane allgather), but
// also works on ragged nodes and with any mapping.
//
// A rank at place k sends its block to one rank of every other node, at place k mod m if that node has m
// ranks: in round s to the node s places ahead. The blocks that arrive in a round go to all other ranks of
// the node in the next round, while further blocks arrive; in the first round a rank sends its own block. N
// rounds on N nodes. A node of m ranks receives p-m blocks, each once, and sends its m blocks to each other
// node. Inside a node, a rank sends about p/m blocks to each of the m-1 others. A rank's own block is copied
// last, since in place it is sent from the output.
#include "algorithms/allgather/allgather.hpp"

namespace stretto::allgather {

Schedule multilane(const Task& task, int rank) {
  const Topology& topology = task.topology;
  const int p = task.ranks();
  const int nodes = topology.nodes;
  const int node = topology.node(rank);
  const int place = topology.place(rank);
  const int ppn = topology.ppn(node);
  const auto node_back = [&](int steps) { return (node + nodes - steps) % nodes; };

  Schedule schedule(p, rank, p);
  for (int round = 1; round <= nodes; ++round) {
    if (round < nodes) {
      const int to = node_back(-round);
      const int from = node_back(round);
      schedule.send(input(rank), topology.rank_at(to, place % topology.ppn(to)));
      for (int k = place; k < topology.ppn(from); k += ppn) {
        schedule.recv(output(topology.rank_at(from, k)), topology.rank_at(from, k));
      }
    }
    const int came_from = node_back(round - 1);
    for (int shift = 1; shift < ppn; ++shift) {
      const int to = (place + shift) % ppn;
      const int from = (place + ppn - shift) % ppn;
      for (int k = place; k < topology.ppn(came_from); k += ppn) {
        const int block = topology.rank_at(came_from, k);
        schedule.send(block == rank ? input(rank) : output(block), topology.rank_at(node, to));
      }
      for (int k = from; k < topology.ppn(came_from); k += ppn) {
        schedule.recv(output(topology.rank_at(came_from, k)), topology.rank_at(node, from));
      }
    }
    schedule.end_round();
  }
  return schedule.copy(output(rank), input(rank)).end_round();
}

}  // namespace stretto::allgather
