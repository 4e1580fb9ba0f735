// SPDX-License-Identifier: Apache-2.0
// Scatter and ring allgather (van de Geijn): the root scatters p blocks, which then travel around a ring.
//
// Ranks are in the order of a chain from the root, node by node, and block i belongs to place i. After a
// binomial scatter each rank sends, step by step, its own block and then the block that arrived in the
// previous step. ⌈log2 p⌉ + p-1 rounds. The root sends the message once in the scatter and once around the
// ring; any other rank sends at most half of it in the scatter. Around the ring, each block crosses a node's
// link at most once in each direction. It suits large messages on many ranks.
//
// A place has some blocks from the scatter already, so the last steps of the ring would send them again.
// These steps are left out: the root receives nothing, and nothing goes from the last node to the root's.
//
// Source: Barnett et al. 1994; Thakur, Rabenseifner, Gropp 2005; the omitted steps: Zhou et al. 2015.
#include <algorithm>
#include <vector>

#include "algorithms/bcast/bcast.hpp"
#include "algorithms/bcast/scatter.hpp"
#include "algorithms/chain_order.hpp"

namespace stretto::bcast {

Schedule scatter_allgather(const Task& task, int rank) {
  const int p = task.ranks();
  Schedule schedule(p, rank, p);
  const std::vector<int> order = chain_order(task.topology, task.root);
  const int place = place_in(order, rank);
  scatter(schedule, order, place);

  const int next = (place + 1) % p;
  const int rank_after = order[static_cast<std::size_t>(next)];
  const int rank_before = order[static_cast<std::size_t>((place + p - 1) % p)];
  const int sends = p - blocks_from_scatter(p, next);
  const int receives = p - blocks_from_scatter(p, place);
  for (int step = 0; step < std::max(sends, receives); ++step) {
    if (step < sends) schedule.send(output((place + p - step) % p), rank_after);
    if (step < receives) schedule.recv(output((place + p - step - 1) % p), rank_before);
    schedule.end_round();
  }
  return schedule;
}

}  // namespace stretto::bcast
