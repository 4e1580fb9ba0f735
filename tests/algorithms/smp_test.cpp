// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <random>
#include <string_view>

#include "topologies.hpp"
#include "verify/verify.hpp"

namespace stretto {
namespace {

Recipe smp(Collective collective, std::string_view part) {
  Recipe recipe = usual_recipe(*find_algorithm(collective, "smp"));
  recipe.parts[0] = usual_recipe(*find_algorithm(collective, part));
  return recipe;
}

TEST(Smp, IsProvenOnRaggedNodesOfSocketsAndNumaDomains) {
  std::mt19937 random(3);
  for (const Collective collective : {Collective::allreduce, Collective::bcast, Collective::reduce}) {
    for (const Recipe& recipe : sample_recipes(collective)) {
      if (recipe.algorithm->name != "smp") continue;
      for (int i = 0; i < 60; ++i) {
        const Topology topology = ragged_nodes(random, 1 + i % 12, 1, 6);
        const int root = static_cast<int>(random() % static_cast<unsigned>(topology.ranks()));
        EXPECT_EQ(verify(recipe, topology, has_root(collective) ? root : 0).error, "");
      }
    }
  }
}

TEST(Smp, CrossesEachLinkAsOftenAsItsPartDoesAlone) {
  const Topology topology = equal_nodes(6, 5);
  const Topology leaders = Topology::flat(6);
  for (const std::string_view part : {"ring", "recursive_doubling", "rabenseifner"}) {
    const Proof whole = verify(smp(Collective::allreduce, part), topology);
    const Proof alone = verify(usual_recipe(*find_algorithm(Collective::allreduce, part)), leaders);
    EXPECT_EQ(whole.error, "");
    EXPECT_EQ(whole.link.blocks, alone.link.blocks) << part;
    EXPECT_EQ(whole.between_nodes.messages, alone.between_nodes.messages) << part;
  }
}

TEST(Smp, BroadcastTakesTheMessageIntoEachNodeOnce) {
  std::mt19937 random(4);
  for (int i = 0; i < 100; ++i) {
    const Topology topology = ragged_nodes(random, 2 + i % 9, 1, 6);
    const int root = static_cast<int>(random() % static_cast<unsigned>(topology.ranks()));
    const Proof proof = verify(smp(Collective::bcast, "chain"), topology, root);
    EXPECT_EQ(proof.error, "");
    EXPECT_EQ(proof.link.blocks, proof.blocks);
  }
}

TEST(Smp, ReduceGivesTheMessageAwayOnceANode) {
  // Only the root's node receives more than one message.
  const Topology topology = equal_nodes(8, 3);
  for (int root = 0; root < topology.ranks(); ++root) {
    const Proof proof = verify(smp(Collective::reduce, "binomial"), topology, root);
    EXPECT_EQ(proof.error, "");
    EXPECT_EQ(proof.between_nodes.messages, 1) << root;
  }
}

TEST(Smp, KeepsOrderOnlyWhereSocketsAreRuns) {
  const auto keeps = [](const std::vector<int>& sockets, const std::vector<int>& numas) {
    const Recipe recipe = smp(Collective::allreduce, "recursive_doubling");
    return verify(recipe, Topology::from_labels({0, 0, 0, 0, 1, 1}, sockets, numas)).keeps_order;
  };
  const std::vector<int> one(6, 0);
  const std::vector<int> runs{0, 0, 1, 1, 0, 1};
  const std::vector<int> mixed{0, 1, 0, 1, 0, 1};
  EXPECT_TRUE(keeps(one, one));
  EXPECT_TRUE(keeps(runs, one));
  EXPECT_FALSE(keeps(mixed, one));
  EXPECT_FALSE(keeps(one, mixed));
  EXPECT_TRUE(keeps(runs, mixed)) << "NUMA domains count only on nodes of one socket";
}

TEST(Smp, KeepsToSocketsUntilOneRankOfEachIsLeft) {
  // Two sockets of two ranks: ranks 1 and 3 exchange with the leaders of their own sockets only.
  const Topology topology = Topology::from_labels({0, 0, 0, 0, 1, 1, 1, 1}, {0, 0, 1, 1, 0, 0, 1, 1});
  for (const int rank : {1, 3}) {
    const Schedule schedule = build(smp(Collective::allreduce, "ring"), topology, 0, rank);
    for (int i = 0; i < schedule.rounds(); ++i) {
      for (const Action& action : schedule.round(i)) EXPECT_EQ(action.peer, rank - 1);
    }
  }
}

TEST(Smp, HasTheFixedTreeOnPerfectTopologies) {
  const Recipe recipe = smp(Collective::allreduce, "recursive_doubling");
  EXPECT_TRUE(has_fixed_tree(recipe, equal_nodes(4, 8)));
  EXPECT_FALSE(has_fixed_tree(recipe, equal_nodes(3, 8)));
  EXPECT_TRUE(verify(recipe, equal_nodes(4, 8)).has_fixed_tree);
}

}  // namespace
}  // namespace stretto
