// SPDX-License-Identifier: Apache-2.0
// Scatter and recursive doubling: the root scatters blocks along a binomial tree; then ranks at distance 1,
// 2, 4, … exchange all blocks that they have. 2 log2(p) rounds and about twice the message: fewer rounds
// than with a ring, but the farthest partners exchange the largest part. It suits messages of medium size.
//
// If p is no power of two, a core of ranks does this and sends the whole message to the extra ranks, its
// neighbours, in one more round. Ranks are numbered in the order of a chain from the root, node by node, so
// that most exchanges stay inside a node. The extra ranks are at the end of the chain, so the root is never
// one of them.
//
// Blocks that a rank has from the scatter are not sent to it again. Source: Thakur, Rabenseifner, Gropp 2005;
// the omitted messages: Zhou et al. 2015.
#include <algorithm>
#include <vector>

#include "algorithms/bcast/bcast.hpp"
#include "algorithms/bcast/scatter.hpp"
#include "algorithms/chain_order.hpp"
#include "algorithms/core.hpp"

namespace stretto::bcast {

Schedule scatter_recursive_doubling(const Task& task, int rank) {
  const int p = task.ranks();
  const Core core(p);
  const int blocks = core.size();
  Schedule schedule(p, rank, blocks);

  // The first ranks form pairs. The root is last, so that it is in no pair.
  std::vector<int> order = chain_order(task.topology, task.root);
  std::reverse(order.begin(), order.end());
  const int place = place_in(order, rank);
  const auto rank_at = [&](int other) { return order[static_cast<std::size_t>(other)]; };
  if (core.hands_over(place)) return schedule.recv(output(0, blocks), rank_at(place + 1)).end_round();

  std::vector<int> ranks;  // of the core, the root first
  for (int number = blocks - 1; number >= 0; --number) ranks.push_back(rank_at(core.rank_of(number)));
  const int me = blocks - 1 - core.core_of(place);
  scatter(schedule, ranks, me);
  for (int distance = 1; distance < blocks; distance *= 2) {
    const int partner = me ^ distance;
    const auto gathered_by = [&](int number) { return output(number - number % distance, distance); };
    const auto has_both = [&](int number) { return number % (2 * distance) == 0; };
    const int peer = ranks[static_cast<std::size_t>(partner)];
    if (!has_both(partner)) schedule.send(gathered_by(me), peer);
    if (!has_both(me)) schedule.recv(gathered_by(partner), peer);
    schedule.end_round();
  }

  if (core.is_paired(place)) schedule.send(output(0, blocks), rank_at(place - 1)).end_round();
  return schedule;
}

}  // namespace stretto::bcast
