// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <bit>
#include <random>
#include <string_view>

#include "topologies.hpp"
#include "verify/verify.hpp"

namespace stretto {
namespace {

Recipe usual(std::string_view name) {
  return usual_recipe(*find_algorithm(Collective::allreduce, name));
}

int ceil_log(int base, int number) {
  int steps = 0;
  for (int reached = 1; reached < number; reached *= base) ++steps;
  return steps;
}

TEST(Nap, SendsFewestMessagesBetweenNodes) {
  for (int ppn = 2; ppn <= 8; ++ppn) {
    for (int nodes = 1; nodes <= 70; ++nodes) {
      const Proof proof = verify(usual("nap"), equal_nodes(nodes, ppn));
      EXPECT_EQ(proof.error, "");
      EXPECT_EQ(proof.between_nodes.messages, ceil_log(ppn, nodes)) << nodes << " nodes of " << ppn;
    }
  }
}

TEST(Nap, SendsFewerThanALeaderOrABlindAlgorithmWould) {
  for (int nodes = 2; nodes <= 70; ++nodes) {
    for (const int ppn : {2, 4, 8}) {
      const Topology topology = equal_nodes(nodes, ppn);
      EXPECT_EQ(verify(usual("smp"), topology).between_nodes.messages, ceil_log(2, nodes)) << nodes;
      if (!std::has_single_bit(static_cast<unsigned>(nodes))) continue;
      const auto blind = verify(usual("recursive_doubling"), topology).between_nodes.messages;
      EXPECT_EQ(blind, ceil_log(2, nodes)) << nodes;
    }
  }
}

TEST(Nap, LoadsTheLinkWithOneMessageALaneAndStep) {
  // 16 nodes of 4 ranks: 2 steps, in which 3 lanes of a node exchange.
  const Proof proof = verify(usual("nap"), equal_nodes(16, 4));
  EXPECT_EQ(proof.between_nodes.messages, 2);
  EXPECT_EQ(proof.link.messages, 6);
}

TEST(Nap, IsProvenOnRaggedNodes) {
  std::mt19937 random(2);
  for (int nodes = 1; nodes <= 60; ++nodes) {
    for (int least = 1; least <= 5; ++least) {
      const Topology topology = ragged_nodes(random, nodes, least, least + 3);
      const Proof proof = verify(usual("nap"), topology);
      EXPECT_EQ(proof.error, "") << least;
      const int steps = ceil_log(topology.min_ppn < 2 ? 2 : topology.min_ppn, nodes);
      // A rank that is alone on its node may have to exchange and also inform another node in the same step.
      EXPECT_LE(proof.between_nodes.messages, topology.min_ppn > 1 ? steps : 2 * steps);
    }
  }
}

TEST(Nap, StaysSmall) {
  const Schedule schedule = build(usual("nap"), equal_nodes(2048, 16), 0, 12345);
  EXPECT_LE(schedule.rounds(), 40);
  EXPECT_LE(schedule.scratch_shape().size(), 8U);
}

TEST(Nap, SaysWhereItIsOfNoUse) {
  const Algorithm& nap = *find_algorithm(Collective::allreduce, "nap");
  EXPECT_NE(nap.why_unsupported({.topology = Topology::flat(4)}), "");
  EXPECT_EQ(nap.why_unsupported({.topology = equal_nodes(2, 2)}), "");
}

}  // namespace
}  // namespace stretto
