// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <random>

#include "topologies.hpp"
#include "verify/verify.hpp"

namespace stretto {
namespace {

Recipe multilane(std::string_view part) {
  Recipe recipe = usual_recipe(*find_algorithm(Collective::allreduce, "multilane"));
  recipe.parts[0] = usual_recipe(*find_algorithm(Collective::allreduce, part));
  return recipe;
}

TEST(Multilane, SharesTheTrafficBetweenNodesAmongTheLanes) {
  for (int nodes = 1; nodes <= 12; ++nodes) {
    for (int ppn = 1; ppn <= 6; ++ppn) {
      const Proof proof = verify(multilane("ring"), equal_nodes(nodes, ppn));
      EXPECT_EQ(proof.error, "");
      EXPECT_EQ(proof.blocks, nodes * ppn);
      // Each lane sends 2(nodes-1)/nodes of its part, so a node in all sends as little as it can.
      EXPECT_EQ(proof.between_nodes.blocks, 2 * (nodes - 1));
      EXPECT_EQ(proof.link.blocks, 2 * (nodes - 1) * ppn);
      EXPECT_EQ(proof.within_node.blocks, 2 * (ppn - 1) * nodes);
    }
  }
}

TEST(Multilane, KeepsOrderWhereItsPartDoes) {
  EXPECT_TRUE(verify(multilane("recursive_doubling"), equal_nodes(5, 7)).keeps_order);
  EXPECT_FALSE(verify(multilane("ring"), equal_nodes(5, 7)).keeps_order);
  EXPECT_TRUE(verify(multilane("ring"), equal_nodes(2, 7)).keeps_order);
}

TEST(Multilane, IsProvenOnRaggedNodes) {
  std::mt19937 random(5);
  for (const Recipe& recipe : sample_recipes(Collective::allreduce)) {
    if (recipe.algorithm->name != "multilane") continue;
    for (int i = 0; i < 60; ++i) {
      const int least = 1 + i % 4;
      EXPECT_EQ(verify(recipe, ragged_nodes(random, 1 + i % 11, least, least + 3)).error, "");
    }
  }
}

TEST(Multilane, SaysWhereItIsOfNoUse) {
  const Algorithm& algorithm = *find_algorithm(Collective::allreduce, "multilane");
  EXPECT_NE(algorithm.why_unsupported({.topology = Topology::from_labels({0, 0, 1})}), "");
  EXPECT_EQ(algorithm.why_unsupported({.topology = equal_nodes(2, 2)}), "");
}

}  // namespace
}  // namespace stretto
