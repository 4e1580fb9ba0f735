// SPDX-License-Identifier: Apache-2.0
#include "algorithms/registry.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "algorithms/core.hpp"
#include "text/size.hpp"
#include "topologies.hpp"

namespace stretto {
namespace {

TEST(Registry, EveryNameIsFoundOnceAndSpellable) {
  std::set<std::pair<Collective, std::string>> names;
  for (const Algorithm& algorithm : algorithms()) {
    EXPECT_TRUE(names.emplace(algorithm.collective, algorithm.name).second) << algorithm.name;
    EXPECT_EQ(find_algorithm(algorithm.collective, algorithm.name), &algorithm);
    EXPECT_EQ(algorithm.name.find_first_of(":=,() \""), std::string_view::npos)
        << "a spec could not be parsed";
    EXPECT_NE(algorithm.name, "native");
    EXPECT_FALSE(algorithm.description.empty());
  }
  EXPECT_EQ(find_algorithm(Collective::allreduce, "no such"), nullptr);
}

TEST(Registry, EveryPartIsThere) {
  for (const Algorithm& algorithm : algorithms()) {
    const Recipe recipe = usual_recipe(algorithm);
    EXPECT_EQ(recipe.parts.size(), algorithm.part_count()) << algorithm.name;
    for (const Recipe& part : recipe.parts) EXPECT_NE(part.algorithm, nullptr) << algorithm.name;
  }
}

// The algorithms whose rounds grow with the logarithm of p, without those that handle all ranks in a few
// rounds.
TEST(Registry, LogarithmicSchedulesStaySmall) {
  const Topology topology = equal_nodes(2048, 16);
  const int ranks = topology.ranks();
  int logarithmic = 0;
  for (const Algorithm& algorithm : algorithms()) {
    if (algorithm.name == "gather_scatter" || algorithm.name == "linear") continue;
    const Recipe recipe = usual_recipe(algorithm);
    if (!algorithm.why_unsupported(task_of(recipe, topology, 0)).empty()) continue;
    for (const int rank : {0, 1, ranks / 2 + 3, ranks - 1}) {
      const Schedule schedule = build(recipe, topology, 0, rank);
      if (schedule.rounds() > 4 * 15) continue;
      ++logarithmic;
      // The schedules of alltoall list each block that a rank passes on.
      const std::size_t most = is_alltoall(algorithm.collective) ? 6 * mebibyte : mebibyte;
      EXPECT_LT(schedule.memory_bytes(), most) << to_string(recipe) << " rank " << rank;
    }
  }
  EXPECT_GT(logarithmic, 30);
}

// The algorithms whose actions also grow with the logarithm.
TEST(Registry, LogarithmicSchedulesOfAMillionRanksStaySmall) {
  const Topology some = equal_nodes(256, 16);
  const Topology many = equal_nodes(65536, 16);
  int logarithmic = 0;
  for (const Algorithm& algorithm : algorithms()) {
    const Recipe recipe = usual_recipe(algorithm);
    if (!algorithm.why_unsupported(task_of(recipe, some, 0)).empty()) continue;
    if (build(recipe, some, 0, 0).actions().size() > 200) continue;
    ++logarithmic;
    for (const int rank : {0, 1, many.ranks() / 2 + 3, many.ranks() - 1}) {
      EXPECT_LT(build(recipe, many, 0, rank).memory_bytes(), 8 * kibibyte)
          << to_string(recipe) << " " << rank;
    }
  }
  EXPECT_GT(logarithmic, 25);
}

// A rank of an alltoall knows p blocks, so its schedule cannot be logarithmic.
TEST(Registry, SchedulesOfAnAlltoallFitIntoMemory) {
  const Topology topology = equal_nodes(2048, 16);
  for (const Recipe& recipe : sample_recipes(Collective::alltoall)) {
    for (const int rank : {0, topology.ranks() - 1}) {
      const Schedule schedule = build(recipe, topology, 0, rank);
      EXPECT_TRUE(schedule.scratch_shape().is_alike());  // so an execution needs no more memory
      EXPECT_LT(schedule.memory_bytes(), 6'000'000U) << to_string(recipe);
    }
  }
}

TEST(Core, KeepsTheOrderOfRanks) {
  for (int ranks = 1; ranks <= 100; ++ranks) {
    const Core core(ranks);
    int previous = -1;
    for (int number = 0; number < core.size(); ++number) {
      const int rank = core.rank_of(number);
      EXPECT_GT(rank, previous);
      EXPECT_LT(rank, ranks);
      EXPECT_FALSE(core.hands_over(rank));
      EXPECT_EQ(core.core_of(rank), number);
      previous = rank;
    }
  }
}

}  // namespace
}  // namespace stretto
