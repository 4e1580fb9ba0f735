// SPDX-License-Identifier: Apache-2.0
// The blocks that node-aware algorithms send over the links between nodes. Few blocks are their purpose.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <set>
#include <vector>

#include "algorithms/registry.hpp"
#include "verify/verify.hpp"

namespace stretto {
namespace {

/// Blocks that leave and enter each node.
struct Crossings {
  std::vector<int> out;
  std::vector<int> in;
  bool repeats = false;  // a block went from one node to another one twice
};

Crossings count_crossings(const Recipe& recipe, const Topology& topology) {
  const auto nodes = static_cast<std::size_t>(topology.nodes);
  Crossings crossings{.out = std::vector<int>(nodes), .in = std::vector<int>(nodes)};
  std::set<std::array<int, 3>> seen;
  for (int rank = 0; rank < topology.ranks(); ++rank) {
    const Schedule schedule = build(recipe, topology, 0, rank);
    for (int i = 0; i < schedule.rounds(); ++i) {
      for (const Action& action : schedule.round(i)) {
        if (action.kind != Kind::send) continue;
        const int from = topology.node(rank);
        const int to = topology.node(action.peer);
        if (from == to) continue;
        EXPECT_EQ(action.left.count, 1);
        const auto first = static_cast<std::size_t>(action.left.first);
        const int block =
            action.left.buffer == Buffer::scratch ? schedule.scratch_shape()[first] : action.left.first;
        ++crossings.out[static_cast<std::size_t>(from)];
        ++crossings.in[static_cast<std::size_t>(to)];
        crossings.repeats = crossings.repeats || !seen.insert({from, to, block}).second;
      }
    }
  }
  return crossings;
}

std::vector<Topology> telling_topologies() {
  std::vector<Topology> all{
      Topology::from_labels({0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3}),  // square
      Topology::from_labels({0, 0, 0, 0, 0, 1, 1, 2, 2, 2}),                    // ragged
      Topology::from_labels({0, 0, 0, 0, 0, 0, 1, 2}),                          // very ragged
      Topology::from_labels({0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2}),              // mapped by node
      Topology::from_labels({0, 1, 2, 0, 1, 2, 0, 1}),                          // both
      Topology::from_labels({0, 0, 0}),                                         // one node
      Topology::flat(5),
  };
  std::mt19937 random(2);
  for (int i = 0; i < 50; ++i) {
    std::vector<int> labels(1 + random() % 40);
    const auto nodes = 1 + random() % 8;
    for (int& label : labels) label = static_cast<int>(random() % nodes);
    all.push_back(Topology::from_labels(labels));
  }
  return all;
}

/// Returns p-m for each node of m ranks, for the direction in which each block is needed once.
std::vector<int> blocks_of_other_nodes(const Topology& topology) {
  std::vector<int> blocks;
  for (int node = 0; node < topology.nodes; ++node) blocks.push_back(topology.ranks() - topology.ppn(node));
  return blocks;
}

/// Returns, for each node of m ranks, m blocks from or to each other node, for the other direction.
std::vector<int> own_blocks_with_each_node(const Topology& topology) {
  std::vector<int> blocks;
  for (int node = 0; node < topology.nodes; ++node)
    blocks.push_back(topology.ppn(node) * (topology.nodes - 1));
  return blocks;
}

Recipe multilane(Collective collective) {
  return usual_recipe(*find_algorithm(collective, "multilane"));
}

void expect_few_blocks_on_the_busiest_link(const Recipe& recipe, const Topology& topology) {
  const Proof proof = verify(recipe, topology);
  EXPECT_EQ(proof.error, "");
  const int once = topology.ranks() - topology.min_ppn;
  EXPECT_LE(proof.link.blocks, std::max(once, topology.max_ppn * (topology.nodes - 1)));
  if (topology.min_ppn == topology.max_ppn) {
    EXPECT_EQ(proof.link.blocks, once);
  }
}

TEST(NodeLinks, MultilaneReduceScatterSendsEachOtherNodesBlockOnce) {
  const Recipe recipe = multilane(Collective::reduce_scatter);
  for (const Topology& topology : telling_topologies()) {
    const Crossings crossings = count_crossings(recipe, topology);
    EXPECT_FALSE(crossings.repeats);
    EXPECT_EQ(crossings.out, blocks_of_other_nodes(topology));
    EXPECT_EQ(crossings.in, own_blocks_with_each_node(topology));
    expect_few_blocks_on_the_busiest_link(recipe, topology);
  }
}

TEST(NodeLinks, MultilaneAllgatherTakesEachOtherNodesBlockOnce) {
  const Recipe recipe = multilane(Collective::allgather);
  for (const Topology& topology : telling_topologies()) {
    const Crossings crossings = count_crossings(recipe, topology);
    EXPECT_FALSE(crossings.repeats);
    EXPECT_EQ(crossings.in, blocks_of_other_nodes(topology));
    EXPECT_EQ(crossings.out, own_blocks_with_each_node(topology));
    expect_few_blocks_on_the_busiest_link(recipe, topology);
  }
}

TEST(NodeLinks, RingsCarryEachBlockOverALinkOnce) {
  for (const Collective collective : {Collective::reduce_scatter, Collective::allgather}) {
    const Recipe ring = usual_recipe(*find_algorithm(collective, "ring"));
    for (const Topology& topology : telling_topologies()) {
      const Proof proof = verify(ring, topology);
      EXPECT_EQ(proof.error, "");
      EXPECT_EQ(proof.link.blocks, topology.nodes == 1 ? 0 : topology.ranks() - 1);
    }
  }
}

TEST(NodeLinks, MultilaneSharesTheWorkAmongTheLanes) {
  const Topology square = Topology::from_labels({0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3});
  for (const Collective collective : {Collective::reduce_scatter, Collective::allgather}) {
    const Proof proof = verify(multilane(collective), square);
    EXPECT_EQ(proof.between_nodes.blocks, 3);
    EXPECT_EQ(proof.within_node.blocks, 12);
  }
}

}  // namespace
}  // namespace stretto
