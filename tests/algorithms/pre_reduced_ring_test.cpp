// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "topologies.hpp"
#include "verify/verify.hpp"

namespace stretto {
namespace {

Recipe pre_reduced_ring(int late) {
  Recipe recipe = usual_recipe(*find_algorithm(Collective::allreduce, "pre_reduced_ring"));
  recipe.late = late;
  return recipe;
}

TEST(PreReducedRing, IsProvenForAnyLateRank) {
  for (int ranks = 2; ranks <= 33; ++ranks) {
    for (const int late : {0, 1, ranks / 2, ranks - 1, ranks + 3}) {
      const Proof proof = verify(pre_reduced_ring(late), Topology::flat(ranks));
      EXPECT_EQ(proof.error, "") << ranks << ' ' << late;
    }
  }
  EXPECT_EQ(verify(pre_reduced_ring(70), Topology::flat(129)).error, "");
  std::mt19937 random(4);
  for (int nodes = 1; nodes <= 6; ++nodes)
    EXPECT_EQ(verify(pre_reduced_ring(nodes), ragged_nodes(random, nodes, 1, 4)).error, "");
}

/// Returns the most blocks that a rank sends or receives from its first message with the late rank on, as a
/// multiple of the message.
double left_when_it_comes(int ranks, int late) {
  double most = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    const Schedule schedule = build(pre_reduced_ring(late), Topology::flat(ranks), 0, rank);
    int sent = 0;
    int received = 0;
    bool has_come = false;
    for (const Action& action : schedule.actions()) {
      has_come = has_come || rank == late || action.peer == late;
      if (!has_come) continue;
      if (action.kind == Kind::send) sent += action.left.count;
      if (action.receives()) received += action.into.count;
    }
    most = std::max(most, std::max(sent, received) / static_cast<double>(schedule.blocks()));
  }
  return most;
}

TEST(PreReducedRing, LeavesOneMessageForEachLinkWhenTheLateRankComes) {
  for (int ranks = 2; ranks <= 40; ++ranks) {
    for (const int late : {0, ranks / 2, ranks - 1}) EXPECT_LE(left_when_it_comes(ranks, late), 1);
  }
}

/// A rank that waits for the late rank has no other work that it could do before.
TEST(PreReducedRing, TheOthersReduceBeforeTheLateRankComes) {
  constexpr int ranks = 9;
  constexpr int late = 4;
  for (int rank = 0; rank < ranks; ++rank) {
    if (rank == late) continue;
    const Schedule schedule = build(pre_reduced_ring(late), Topology::flat(ranks), 0, rank);
    const auto actions = schedule.actions();
    const auto is_with_late = [](const Action& action) { return action.peer == late; };
    const auto first = std::ranges::find_if(actions, is_with_late);
    const auto reduces = [](const Action& action) {
      return action.kind == Kind::recv_reduce && action.peer != late;
    };
    EXPECT_TRUE(std::none_of(first, actions.end(), reduces));
  }
}

}  // namespace
}  // namespace stretto
