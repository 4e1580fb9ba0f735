// SPDX-License-Identifier: Apache-2.0
// Multilane: all ranks of a node (lanes) take blocks from other nodes at once, each block once for the whole
// node, and pass them on inside it. In the manner of Träff and Hunold 2020 (full-lane allgather), but on
// ragged nodes and with any mapping as well.
//
// A rank with place k sends its block to one rank of every other node, at place k mod m where there are m
// ranks: in round s to the node s places ahead. What came in a round is passed on to all others of the node
// in the next one, beside what comes then; in the first one that is the own block. N rounds on N nodes. What
// comes into a node of m ranks is p-m blocks, each once; what leaves it is its m blocks to each other node.
// Inside a node, a rank sends about p/m blocks to each of the m-1 others. The own block is copied last: in
// place it lies where it is sent from.
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
