// SPDX-License-Identifier: Apache-2.0
// Multilane: a node first adds up its ranks' contributions, then all of its ranks (lanes) send the sums to
// other nodes at once. It follows Träff and Hunold 2020 (full-lane reduce-scatter), but also works on ragged
// nodes and with any mapping.
//
// Phase 1: consider a node of m ranks, and a block whose owner has place k on its own node. The rank at
// place k mod m adds up the node's sum for that block; for the node's own blocks, that is the owner. m-1
// rounds of about p/m blocks, sent directly from the input. Phase 2: the sums go to the owners, in round s
// to the node s places ahead: N-1 rounds of about one block on N nodes. A node of m ranks sends p-m blocks,
// each once; it receives one sum from each other node for each of its m blocks.
//
// In both phases contributions arrive from the previous place (or node), then from the one before that, and
// so on around to the next one. So each goes on the left of those that came before. Contributions of ranks
// above this one are added up separately, since its own comes in between. Rank order is kept if nodes hold
// consecutive ranks. Scratch is two blocks for each of the p/m blocks that a rank adds up.
#include <vector>

#include "algorithms/reduce_scatter/reduce_scatter.hpp"

namespace stretto::reduce_scatter {
namespace {

/// The partial results of a block that a rank adds up.
struct Sum {
  int block;
  Slice lower;       // of this rank and those below it
  Slice upper = {};  // of those above it; no blocks: none yet

  void take(Schedule& schedule, int peer, bool is_below) {
    Slice& part = is_below ? lower : upper;
    const Slice before = part;
    if (part.buffer == Buffer::input) part = scratch(schedule.add_scratch(block));
    if (before.count == 0) {
      schedule.recv(part, peer);
    } else {
      schedule.recv_reduce(part, before, peer, Side::left);
    }
  }

  /// Adds `upper` to `lower`.
  void join(Schedule& schedule) {
    if (upper.count == 0) return;
    const Slice whole = lower.buffer == Buffer::input ? upper : lower;
    schedule.reduce(whole, lower, upper);
    lower = whole;
    upper = {};
  }
};

}  // namespace

Schedule multilane(const Task& task, int rank) {
  const Topology& topology = task.topology;
  const int p = task.ranks();
  const int nodes = topology.nodes;
  const int node = topology.node(rank);
  const int place = topology.place(rank);
  const int ppn = topology.ppn(node);
  // Blocks of this node first, then those of the nodes ahead, in the order of phase 2.
  const auto blocks_added_up_at = [&](int its_place) {
    std::vector<int> blocks;
    for (int shift = 0; shift < nodes; ++shift) {
      const int owners = (node + shift) % nodes;
      for (int k = its_place; k < topology.ppn(owners); k += ppn)
        blocks.push_back(topology.rank_at(owners, k));
    }
    return blocks;
  };

  Schedule schedule(p, rank, p);
  std::vector<Sum> sums;
  for (const int block : blocks_added_up_at(place)) sums.push_back({.block = block, .lower = input(block)});
  for (int shift = 1; shift < ppn; ++shift) {
    const int to = (place + shift) % ppn;
    const int from = (place + ppn - shift) % ppn;
    for (const int block : blocks_added_up_at(to)) schedule.send(input(block), topology.rank_at(node, to));
    for (Sum& sum : sums) sum.take(schedule, topology.rank_at(node, from), from < place);
    schedule.end_round();
  }
  for (Sum& sum : sums) sum.join(schedule);
  schedule.end_round();

  Sum& own = sums.front();
  auto next = sums.begin() + 1;
  for (int shift = 1; shift < nodes; ++shift) {
    const int to = (node + shift) % nodes;
    const int from = (node + nodes - shift) % nodes;
    for (; next != sums.end() && topology.node(next->block) == to; ++next) {
      schedule.send(next->lower, next->block);
    }
    own.take(schedule, topology.rank_at(from, place % topology.ppn(from)), from < node);
    schedule.end_round();
  }
  own.join(schedule);
  schedule.end_round();
  return schedule.copy(output(rank), own.lower).end_round();
}

}  // namespace stretto::reduce_scatter
