// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include "algorithms/circulant_trees.hpp"
#include "verify/verify.hpp"

namespace stretto {
namespace {

int rounds_of(const Schedule& schedule, Kind kind) {
  int rounds = 0;
  for (int i = 0; i < schedule.rounds(); ++i) {
    for (const Action& action : schedule.round(i)) {
      if (action.kind != kind) continue;
      ++rounds;
      break;
    }
  }
  return rounds;
}

int blocks_sent(const Schedule& schedule) {
  int blocks = 0;
  for (const Action& action : schedule.actions()) {
    if (action.kind == Kind::send) blocks += action.left.count;
  }
  return blocks;
}

/// Checks that schedules have the fewest rounds and send the fewest blocks, for every number of ranks.
void expect_least(Collective collective, int halves, int most_ranks) {
  const Recipe recipe = usual_recipe(*find_algorithm(collective, "circulant"));
  for (int ranks = 2; ranks <= most_ranks; ++ranks) {
    const Topology topology = Topology::flat(ranks);
    const int logarithm = std::bit_width(static_cast<unsigned>(ranks - 1));
    for (const int rank : {0, 1, ranks / 2, ranks - 1}) {
      const Schedule schedule = build(recipe, topology, 0, rank);
      EXPECT_EQ(rounds_of(schedule, Kind::send), halves * logarithm) << ranks;
      EXPECT_EQ(blocks_sent(schedule), halves * (ranks - 1)) << ranks;
    }
  }
}

TEST(Circulant, ReduceScatterHasTheFewestRoundsAndBytes) {
  expect_least(Collective::reduce_scatter, 1, 1100);
}

TEST(Circulant, AllreduceHasTheFewestRoundsAndBytes) {
  expect_least(Collective::allreduce, 2, 1100);
}

TEST(Circulant, IsProvenForManyRanks) {
  for (const Collective collective : {Collective::reduce_scatter, Collective::allreduce}) {
    const Recipe recipe = usual_recipe(*find_algorithm(collective, "circulant"));
    for (const int ranks : {255, 256, 257, 500, 511, 513, 777, 1023, 1024}) {
      EXPECT_EQ(verify(recipe, Topology::flat(ranks)).error, "") << ranks;
    }
  }
}

constexpr std::array rooted{Collective::bcast, Collective::reduce};

Recipe along_trees(Collective collective) {
  return usual_recipe(*find_algorithm(collective, "circulant"));
}

TEST(CirculantTrees, AreProvenForManyRanksAndRoots) {
  for (const Collective collective : rooted) {
    for (int ranks = 1; ranks <= 1024; ranks += ranks < 130 ? 1 : 149) {
      for (const int root : {0, ranks / 3, ranks - 1}) {
        EXPECT_EQ(verify(along_trees(collective), Topology::flat(ranks), root).error, "");
      }
    }
    for (const int ranks : {255, 256, 257, 500, 511, 512, 513, 1023, 1024}) {
      EXPECT_EQ(verify(along_trees(collective), Topology::flat(ranks), 1).error, "");
    }
  }
}

/// There are q blocks in twice q rounds, and at most the message crosses any link. A rank uses either a round
/// of the first half or the same round of the second half, so the halves of two segments fit into each other.
TEST(CirculantTrees, FillEachRoundOnce) {
  for (int ranks = 2; ranks <= 1024; ranks += ranks < 130 ? 1 : 37) {
    const auto trees = static_cast<std::size_t>(circulant_trees(ranks));
    EXPECT_EQ(trees, std::bit_width(static_cast<unsigned>(ranks - 1)));
    for (int rank = 0; rank < ranks; ++rank) {
      const std::vector<TreeStep> steps = circulant_steps(ranks, rank);
      ASSERT_EQ(steps.size(), 2 * trees);
      std::vector<int> received(trees);
      for (std::size_t k = 0; k < trees; ++k) {
        const TreeStep& first = steps[k];
        const TreeStep& second = steps[trees + k];
        EXPECT_LE((first.sent >= 0) + (second.sent >= 0), 1);
        EXPECT_EQ((first.received >= 0) + (second.received >= 0), rank == 0 ? 0 : 1);
        if (rank != 0) ++received.at(static_cast<std::size_t>(std::max(first.received, second.received)));
      }
      EXPECT_EQ(received, std::vector<int>(trees, rank == 0 ? 0 : 1)) << rank << " of " << ranks;
    }
  }
}

TEST(CirculantTrees, StaySmallOnManyRanks) {
  const Topology topology = Topology::flat(1 << 20);
  for (const Collective collective : rooted) {
    for (const int rank : {0, 1, 777, 654321, (1 << 20) - 1}) {
      const Schedule schedule = build(along_trees(collective), topology, 777, rank);
      EXPECT_LE(schedule.rounds(), 40);
      EXPECT_LE(schedule.memory_bytes(), 8192U);
    }
  }
}

}  // namespace
}  // namespace stretto
