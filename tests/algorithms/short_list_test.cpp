// SPDX-License-Identifier: Apache-2.0
#include "algorithms/short_list.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace stretto {
namespace {

bool lists(Collective collective, const std::string& recipe) {
  return std::ranges::any_of(short_list(collective),
                             [&](const ShortListed& one) { return to_string(one.recipe) == recipe; });
}

bool searches(const Algorithm& algorithm, const std::string& recipe) {
  return std::ranges::any_of(recipes_to_search(algorithm),
                             [&](const Recipe& one) { return to_string(one) == recipe; });
}

TEST(ShortList, HasEveryAlgorithmThatIsGoodForSomething) {
  for (const Algorithm& algorithm : algorithms()) {
    const auto list = short_list(algorithm.collective);
    const auto is_it = [&](const ShortListed& one) { return one.recipe.algorithm == &algorithm; };
    EXPECT_EQ(std::ranges::any_of(list, is_it), algorithm.use.short_messages || algorithm.use.long_messages)
        << algorithm.name;
  }
}

TEST(ShortList, EachIsGoodForSomethingAndHasASpec) {
  for (const Collective collective : collectives) {
    for (const ShortListed& one : short_list(collective)) {
      EXPECT_TRUE(one.short_messages || one.long_messages) << to_string(one.recipe);
      EXPECT_TRUE(one.whole || !one.segment_bytes.empty()) << to_string(one.recipe);
    }
  }
}

TEST(ShortList, ComposedAlgorithmsTakePartsThatGainBySegments) {
  EXPECT_TRUE(lists(Collective::allreduce, "multilane(ring)"));
  EXPECT_TRUE(lists(Collective::allreduce, "multilane(rabenseifner)"));
  EXPECT_FALSE(lists(Collective::allreduce, "multilane(recursive_doubling)"));
  EXPECT_TRUE(lists(Collective::bcast, "smp(chain)"));
  EXPECT_FALSE(lists(Collective::bcast, "smp(binomial)"));
}

TEST(RecipesToSearch, BeginWithTheUsualOneAndNoneIsThereTwice) {
  for (const Algorithm& algorithm : algorithms()) {
    const std::vector<Recipe> recipes = recipes_to_search(algorithm);
    ASSERT_FALSE(recipes.empty()) << algorithm.name;
    EXPECT_EQ(recipes[0], usual_recipe(algorithm)) << algorithm.name;
    for (const Recipe& recipe : recipes) EXPECT_EQ(std::ranges::count(recipes, recipe), 1) << algorithm.name;
  }
}

TEST(RecipesToSearch, EveryPartIsTriedInEveryComposedAlgorithm) {
  for (const Algorithm& algorithm : algorithms()) {
    for (std::size_t i = 0; i < algorithm.part_count(); ++i) {
      for (const Algorithm& part : algorithms()) {
        if (part.collective != algorithm.parts.at(i).collective || !part.use.as_part) continue;
        const auto recipes = recipes_to_search(algorithm);
        EXPECT_TRUE(std::ranges::any_of(
            recipes, [&](const Recipe& recipe) { return recipe.parts[i].algorithm == &part; }))
            << part.name << " in " << algorithm.name;
      }
    }
  }
}

TEST(RecipesToSearch, TwoPartsAreGoodForTheSameMessages) {
  const Algorithm& algorithm = *find_algorithm(Collective::allreduce, "reduce_broadcast");
  EXPECT_TRUE(searches(algorithm, "reduce_broadcast(chain,chain)"));
  EXPECT_TRUE(searches(algorithm, "reduce_broadcast(rabenseifner,scatter_allgather)"));
  EXPECT_FALSE(searches(algorithm, "reduce_broadcast(binomial,chain)"));
}

TEST(Use, SegmentSizesAscend) {
  for (const Algorithm& algorithm : algorithms()) {
    const auto [first, second] = algorithm.use.segment_bytes;
    EXPECT_TRUE(second == 0 || (first > 0 && first < second)) << algorithm.name;
    EXPECT_TRUE(!algorithm.use.only_in_segments || first > 0) << algorithm.name;
    EXPECT_FALSE(first > 0 && algorithm.stays_whole()) << algorithm.name;
  }
}

TEST(Use, PartsRunOnOneRankPerNode) {
  for (const Algorithm& algorithm : algorithms()) {
    EXPECT_FALSE(algorithm.use.as_part && needs_shared_nodes(algorithm)) << algorithm.name;
  }
}

TEST(NeedsSharedNodes, IsTrueOfAlgorithmsForLanesAndLeaders) {
  EXPECT_TRUE(needs_shared_nodes(*find_algorithm(Collective::allreduce, "multilane")));
  EXPECT_TRUE(needs_shared_nodes(*find_algorithm(Collective::bcast, "smp")));
  EXPECT_FALSE(needs_shared_nodes(*find_algorithm(Collective::allreduce, "ring")));
}

TEST(NeedsSegments, LooksIntoParts) {
  const Recipe chain = usual_recipe(*find_algorithm(Collective::bcast, "chain"));
  Recipe smp = usual_recipe(*find_algorithm(Collective::bcast, "smp"));
  EXPECT_TRUE(needs_segments(chain));
  EXPECT_FALSE(needs_segments(smp));
  smp.parts[0] = chain;
  EXPECT_TRUE(needs_segments(smp));
}

}  // namespace
}  // namespace stretto
