// SPDX-License-Identifier: Apache-2.0
// Chain: each rank adds its contribution to the partial result of the previous rank and sends it to the next
// one, from node to node to the root's node and there to the root. So each node's link is crossed once in
// each direction.
//
// p-1 rounds of the whole message, one after the other, but no rank sends it more than once. If the message
// is cut into many segments, all links and all ranks' arithmetic work at the same time. It suits large
// messages on few ranks. Source: textbook (a pipelined chain).
//
// A partial result holds the contributions of all places before; their lowest rank tells on which side it
// goes. Rank order is kept if each place extends the previous run of ranks at one of its ends.
#include <algorithm>
#include <vector>

#include "algorithms/chain_order.hpp"
#include "algorithms/reduce/reduce.hpp"

namespace stretto::reduce {
namespace {

std::vector<int> order_towards(const Task& task) {
  std::vector<int> order = chain_order(task.topology, task.root);
  std::reverse(order.begin(), order.end());
  return order;
}

}  // namespace

Schedule chain(const Task& task, int rank) {
  const int p = task.ranks();
  Schedule schedule(p, rank, 1);
  const std::vector<int> order = order_towards(task);
  const auto here = std::find(order.begin(), order.end(), rank);
  Slice mine = input(0);
  if (here != order.begin()) {
    const Slice partial = rank == task.root ? output(0) : scratch(schedule.add_scratch(0));
    const int lowest = *std::min_element(order.begin(), here);
    schedule.recv_reduce(partial, mine, *(here - 1), lowest < rank ? Side::left : Side::right).end_round();
    mine = partial;
  }
  if (rank != task.root) schedule.send(mine, *(here + 1)).end_round();
  return schedule;
}

bool chain_keeps_order(const Task& task) {
  const std::vector<int> order = order_towards(task);
  int lowest = order.front();
  int highest = order.front();
  for (const int rank : order) {
    if (rank > lowest && rank < highest) return false;
    lowest = std::min(lowest, rank);
    highest = std::max(highest, rank);
  }
  return true;
}

}  // namespace stretto::reduce
