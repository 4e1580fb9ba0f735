// SPDX-License-Identifier: Apache-2.0
#include "topology/topology.hpp"

#include <gtest/gtest.h>

namespace stretto {
namespace {

TEST(Topology, KnowsItsEmptiestCache) {
  EXPECT_EQ(Topology::from_labels({0, 0, 0, 0, 0}, {}, {}, {7, 7, 8, 8, 8}).min_cache, 2);
  // Caches of different nodes are never the same.
  EXPECT_EQ(Topology::from_labels({0, 0, 0, 1}, {}, {}, {7, 7, 7, 7}).min_cache, 1);
}

TEST(Topology, NumbersNodesByTheirLowestRank) {
  const Topology topology = Topology::from_labels({70, 70, 5, 70, 9, 5});
  EXPECT_EQ(topology.node_of, (std::vector<int>{0, 0, 1, 0, 2, 1}));
  EXPECT_EQ(topology.nodes, 3);
  EXPECT_EQ(topology.max_ppn, 3);
  EXPECT_EQ(topology.min_ppn, 1);
}

TEST(Topology, FlatHasOneRankANode) {
  const Topology topology = Topology::flat(5);
  EXPECT_EQ(topology.ranks(), 5);
  EXPECT_EQ(topology.nodes, 5);
  EXPECT_EQ(topology.max_ppn, 1);
}

TEST(Topology, FlatIsWhatDifferentLabelsMake) {
  const Topology flat = Topology::flat(5);
  const Topology other = Topology::from_labels({4, 0, 3, 2, 9});
  for (const auto field : {&Topology::node_of, &Topology::place_of, &Topology::by_node, &Topology::node_begin,
                           &Topology::socket_of, &Topology::numa_of, &Topology::l3_of}) {
    EXPECT_EQ(flat.*field, other.*field);
  }
  for (const auto count : {&Topology::nodes, &Topology::sockets, &Topology::numas, &Topology::l3s,
                           &Topology::max_ppn, &Topology::min_ppn, &Topology::min_cache}) {
    EXPECT_EQ(flat.*count, other.*count);
  }
}

TEST(Topology, ListsTheRanksOfEachNode) {
  const Topology topology = Topology::from_labels({70, 70, 5, 70, 9, 5});
  EXPECT_EQ(topology.by_node, (std::vector<int>{0, 1, 3, 2, 5, 4}));
  EXPECT_EQ(topology.place_of, (std::vector<int>{0, 1, 0, 2, 0, 1}));
  EXPECT_EQ(topology.ppn(0), 3);
  EXPECT_EQ(topology.ppn(2), 1);
  for (int node = 0; node < topology.nodes; ++node) {
    const auto ranks = topology.on_node(node);
    for (std::size_t place = 0; place < ranks.size(); ++place) {
      EXPECT_EQ(topology.node(ranks[place]), node);
      EXPECT_EQ(topology.place(ranks[place]), static_cast<int>(place));
    }
  }
}

TEST(Topology, KnowsWhetherNodesHoldConsecutiveRanks) {
  EXPECT_TRUE(Topology::from_labels({3, 3, 1, 1, 2}).contiguous);
  EXPECT_FALSE(Topology::from_labels({3, 1, 3}).contiguous);
  EXPECT_TRUE(Topology::flat(1).contiguous);
}

TEST(Topology, SocketsAndNumaDomainsAreNumberedOverAllNodes) {
  // Equal labels on two nodes are two sockets.
  const Topology topology = Topology::from_labels({0, 0, 1, 1, 0}, {5, 6, 5, 5, 5}, {1, 1, 1, 2, 3});
  EXPECT_EQ(topology.socket_of, (std::vector<int>{0, 1, 2, 2, 0}));
  EXPECT_EQ(topology.sockets, 3);
  EXPECT_EQ(topology.numa_of, (std::vector<int>{0, 1, 2, 3, 4}));
  EXPECT_EQ(topology.numas, 5);
}

TEST(Topology, WithoutLabelsANodeIsOneSocketAndOneNumaDomain) {
  const Topology topology = Topology::from_labels({4, 8, 4});
  EXPECT_EQ(topology.socket_of, topology.node_of);
  EXPECT_EQ(topology.numa_of, topology.node_of);
  EXPECT_EQ(topology.numas, 2);
}

}  // namespace
}  // namespace stretto
