// SPDX-License-Identifier: Apache-2.0
#include "schedule/topology.hpp"

#include <gtest/gtest.h>

namespace stretto {
namespace {

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

}  // namespace
}  // namespace stretto
