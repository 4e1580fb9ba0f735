// SPDX-License-Identifier: Apache-2.0
// Chain: each rank receives the message from the previous rank and sends it to the next one, from the root
// through its own node and then from node to node. So each node's link is crossed once in each direction.
//
// p-1 rounds of the whole message, one after the other, but no rank sends it more than once. If the message
// is cut into many segments, all links work at the same time, and the whole takes little longer than a
// single message. It suits large messages on few ranks. Source: textbook (a pipelined chain).
#include <vector>

#include "algorithms/bcast/bcast.hpp"
#include "algorithms/chain_order.hpp"

namespace stretto::bcast {

Schedule chain(const Task& task, int rank) {
  const int p = task.ranks();
  Schedule schedule(p, rank, 1);
  const std::vector<int> order = chain_order(task.topology, task.root);
  const int place = place_in(order, rank);
  const auto rank_at = [&](int other) { return order[static_cast<std::size_t>(other)]; };

  if (place > 0) schedule.recv(output(0), rank_at(place - 1)).end_round();
  if (place + 1 < p) schedule.send(output(0), rank_at(place + 1)).end_round();
  return schedule;
}

}  // namespace stretto::bcast
