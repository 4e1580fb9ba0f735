// SPDX-License-Identifier: Apache-2.0
// Ring: the second half of the ring allreduce (RNG in Table 1 of the pipelined paper). Every block starts at
// its owner and moves on by one place in each round. p-1 rounds of one block, the fewest bytes possible, for
// any p. The ring goes from node to node, so each block crosses each node's link once, however ranks are
// mapped. A rank's own block is copied last, since in place it is sent from the output.
#include "algorithms/allgather/allgather.hpp"

namespace stretto::allgather {

Schedule ring(const Task& task, int rank) {
  const Topology& topology = task.topology;
  const int p = task.ranks();
  const int place = topology.node_begin[static_cast<std::size_t>(topology.node(rank))] + topology.place(rank);
  const auto rank_back = [&](int steps) {
    return topology.by_node[static_cast<std::size_t>((place + p - steps) % p)];
  };

  Schedule schedule(p, rank, p);
  Slice travelling = input(rank);
  for (int step = 1; step < p; ++step) {
    const Slice arriving = output(rank_back(step));
    schedule.send(travelling, rank_back(-1)).recv(arriving, rank_back(1)).end_round();
    travelling = arriving;
  }
  return schedule.copy(output(rank), input(rank)).end_round();
}

}  // namespace stretto::allgather
