// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/cache_groups.hpp"
#include "topology/topology_text.hpp"
#include "verify/verify.hpp"

namespace stretto {
namespace {

Recipe usual(std::string_view name) {
  return usual_recipe(*find_algorithm(Collective::allreduce, name));
}

std::vector<std::size_t> sizes_of(const std::string& topology) {
  std::vector<std::size_t> sizes;
  for (const auto& group : cache_groups(parse_topology(topology))) sizes.push_back(group.size());
  return sizes;
}

std::string why_unsupported(std::string_view name, const std::string& topology) {
  const Recipe recipe = usual(name);
  return std::string(recipe.algorithm->why_unsupported(task_of(recipe, parse_topology(topology))));
}

TEST(CacheGroups, AreCachesCutIntoSixteens) {
  using Sizes = std::vector<std::size_t>;
  EXPECT_EQ(sizes_of("ppn=16"), Sizes{16});
  EXPECT_EQ(sizes_of("ppn=17"), (Sizes{9, 8}));
  EXPECT_EQ(sizes_of("ppn=128,sockets=2,l3=8"), Sizes(16, 8));
  EXPECT_EQ(sizes_of("ppn=72,sockets=2"), (Sizes{12, 12, 12, 12, 12, 12}));
  EXPECT_EQ(sizes_of("nodes=2,ppn=6,l3=2"), (Sizes{3, 3, 3, 3}));
}

TEST(CacheGroups, AreInTheOrderOfTheirLowestRanks) {
  std::vector<int> l3s;
  for (int rank = 0; rank < 40; ++rank) l3s.push_back(rank % 2);
  const Topology topology = Topology::from_labels(std::vector<int>(40, 0), {}, {}, l3s);
  std::vector<int> lowest;
  for (const auto& group : cache_groups(topology)) {
    EXPECT_EQ(group.size(), 10);
    lowest.push_back(group.front());
  }
  EXPECT_EQ(lowest, (std::vector<int>{0, 1, 20, 21}));
}

TEST(CacheLanes, AreProvenForAnyCaches) {
  std::mt19937 random(5);
  for (const Recipe& recipe : sample_recipes(Collective::allreduce)) {
    if (!recipe.algorithm->name.starts_with("cache_")) continue;
    for (int i = 0; i < 60; ++i) {
      std::vector<int> l3s(1 + random() % 40);
      const auto caches = 1 + random() % 6;
      for (int& l3 : l3s) l3 = static_cast<int>(random() % caches);
      if (random() % 2 == 0) std::sort(l3s.begin(), l3s.end());
      const Topology topology = Topology::from_labels(std::vector<int>(l3s.size(), 0), {}, {}, l3s);
      EXPECT_EQ(verify(recipe, topology).error, "") << to_string(recipe);
    }
  }
}

TEST(CacheLanes, TheFullNodeIsInTheFixedTree) {
  for (const std::string_view name : {"cache_leaders", "cache_lanes"}) {
    Recipe recipe = usual(name);
    if (name == "cache_leaders") recipe.parts[0].radix = 16;
    const Topology topology = parse_topology("ppn=128,sockets=2,l3=8");
    EXPECT_TRUE(has_fixed_tree(recipe, topology));
    const Proof proof = verify(recipe, topology);
    EXPECT_EQ(proof.error, "");
    EXPECT_TRUE(proof.keeps_order);
  }
}

TEST(CacheLanes, KeepOrderOnlyWhereCachesAreRuns) {
  for (const std::string_view name : {"cache_leaders", "cache_lanes"}) {
    const auto keeps = [&](const std::vector<int>& l3s) {
      return verify(usual(name), Topology::from_labels({0, 0, 0, 0, 0, 0}, {}, {}, l3s)).keeps_order;
    };
    EXPECT_TRUE(keeps({0, 0, 0, 1, 1, 1}));
    EXPECT_TRUE(keeps({0, 0, 1, 1, 1, 1}));
    EXPECT_FALSE(keeps({0, 1, 0, 1, 0, 1}));
  }
}

// Each byte crosses from cache to cache once in each direction.
TEST(CacheLanes, CrossBetweenCachesAsLittleAsTwoShotWithOneRankACache) {
  const Topology caches = parse_topology("ppn=32,l3=4");
  // The same groups of ranks as nodes, so that the proof counts the blocks that cross between them.
  const Proof proof = verify(usual("cache_lanes"), parse_topology("nodes=4,ppn=8"));
  const Proof alone = verify(usual("two_shot"), Topology::flat(4));
  ASSERT_EQ(cache_groups(caches), cache_groups(parse_topology("nodes=4,ppn=8")));
  EXPECT_EQ(static_cast<double>(proof.link.blocks) / proof.blocks,
            static_cast<double>(alone.link.blocks) / alone.blocks);
}

TEST(CacheLanes, FitWhereANodeHasSeveralCachesOfSeveralRanks) {
  EXPECT_EQ(why_unsupported("cache_lanes", "ppn=128,sockets=2,l3=8"), "");
  EXPECT_EQ(why_unsupported("cache_leaders", "ppn=17"), "");
  EXPECT_NE(why_unsupported("cache_lanes", "ppn=16"), "");
  EXPECT_NE(why_unsupported("cache_leaders", "ppn=16"), "");
  EXPECT_NE(why_unsupported("cache_lanes", "nodes=2,ppn=32"), "");
  // A cache of one rank is no lane, but may well have a leader.
  const std::string odd = "n s n 0;n s n 0;n s n 1";
  EXPECT_NE(why_unsupported("cache_lanes", odd), "");
  EXPECT_EQ(why_unsupported("cache_leaders", odd), "");
  EXPECT_NE(why_unsupported("cache_leaders", "ppn=4,l3=4"), "");
}

}  // namespace
}  // namespace stretto
