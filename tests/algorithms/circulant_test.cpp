// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <bit>

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

/// The fewest rounds and the fewest blocks, for every number of ranks.
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

}  // namespace
}  // namespace stretto
