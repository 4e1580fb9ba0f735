// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "topologies.hpp"
#include "verify/verify.hpp"

namespace stretto {
namespace {

Recipe weighted(std::vector<int> links) {
  Recipe recipe = usual_recipe(*find_algorithm(Collective::allreduce, "weighted"));
  recipe.links = std::move(links);
  return recipe;
}

/// Returns links that are as fast as the fastest, a little slower, much slower, or so slow that a rank owns
/// no blocks.
std::vector<int> random_links(std::mt19937& random, int nodes) {
  std::vector<int> links(static_cast<std::size_t>(nodes), whole_link);
  for (std::size_t i = 1; i < links.size(); ++i) {
    if (random() % 2 == 0) links[i] = 1 + static_cast<int>(random() % whole_link);
  }
  std::ranges::shuffle(links, random);
  return links;
}

/// Returns the time of the busiest link in one direction, in units of a message's time on the fastest link.
double time_of(const Recipe& recipe, int ranks) {
  const Topology topology = Topology::flat(ranks);
  double most = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    const Schedule schedule = build(recipe, topology, 0, rank);
    int sent = 0;
    int received = 0;
    for (const Action& action : schedule.actions()) {
      if (action.kind == Kind::send) sent += action.left.count;
      if (action.receives()) received += action.into.count;
    }
    const double rate = recipe.links[static_cast<std::size_t>(rank)] / static_cast<double>(whole_link);
    most = std::max(most, std::max(sent, received) / rate / schedule.blocks());
  }
  return most;
}

double least_time(const std::vector<int>& links) {
  const double slowest = *std::ranges::min_element(links) / static_cast<double>(whole_link);
  const double sum = std::accumulate(links.begin(), links.end(), 0.0) / whole_link;
  return std::max(1 / slowest, 2 * (static_cast<double>(links.size()) - 1) / sum);
}

TEST(Weighted, IsProvenForAnyLinks) {
  std::mt19937 random(3);
  for (int i = 0; i < 200; ++i) {
    const int ranks = 2 + i % 33;
    const Proof proof = verify(weighted(random_links(random, ranks)), Topology::flat(ranks));
    EXPECT_EQ(proof.error, "");
    EXPECT_TRUE(proof.keeps_order);
  }
}

TEST(Weighted, IsProvenWhereverItsLinksAreNotThoseOfTheNodes) {
  std::mt19937 random(4);
  for (int i = 0; i < 100; ++i) {
    const Recipe recipe = weighted(random_links(random, 2 + i % 7));
    EXPECT_EQ(verify(recipe, ragged_nodes(random, 1 + i % 11, 1, 4)).error, "");
  }
}

TEST(Weighted, ComesNearTheLeastTimeThatLinksAllow) {
  std::mt19937 random(5);
  for (int i = 0; i < 300; ++i) {
    const std::vector<int> links = random_links(random, 3 + i % 30);
    const double time = time_of(weighted(links), static_cast<int>(links.size()));
    EXPECT_GE(time, 0.999 * least_time(links));
    EXPECT_LE(time, 1.05 * least_time(links));
  }
}

TEST(Weighted, IsTheRingsTimeOnEqualLinks) {
  for (int ranks = 2; ranks <= 17; ++ranks) {
    const std::vector<int> links(static_cast<std::size_t>(ranks), whole_link);
    EXPECT_DOUBLE_EQ(time_of(weighted(links), ranks), 2 * (ranks - 1.0) / ranks);
  }
}

TEST(Weighted, GivesASlowLinkNothingToOwn) {
  const Topology topology = Topology::flat(8);
  const Recipe recipe = weighted({100, 100, 100, 50, 100, 100, 100, 100});
  const Schedule of_slow = build(recipe, topology, 0, 3);
  EXPECT_EQ(of_slow.blocks(), 7);
  EXPECT_TRUE(std::ranges::none_of(of_slow.actions(),
                                   [](const Action& action) { return action.kind == Kind::recv_reduce; }));
  EXPECT_DOUBLE_EQ(time_of(recipe, 8), 2);
}

TEST(Weighted, SharesTheLinkOfANodeByLanes) {
  Recipe lanes = usual_recipe(*find_algorithm(Collective::allreduce, "multilane"));
  std::mt19937 random(6);
  for (int i = 0; i < 60; ++i) {
    const int nodes = 2 + i % 7;
    lanes.parts[0] = weighted(random_links(random, nodes));
    EXPECT_EQ(verify(lanes, ragged_nodes(random, nodes, 2, 4)).error, "");
  }
}

TEST(Weighted, SaysWhereItIsOfNoUse) {
  const Recipe recipe = weighted({100, 50});
  const Algorithm& algorithm = *recipe.algorithm;
  EXPECT_EQ(algorithm.why_unsupported(task_of(recipe, Topology::flat(2))), "");
  EXPECT_EQ(algorithm.why_unsupported(task_of(weighted({}), Topology::flat(3))), "");
  EXPECT_NE(algorithm.why_unsupported(task_of(recipe, Topology::flat(3))), "");
  EXPECT_NE(algorithm.why_unsupported(task_of(recipe, equal_nodes(2, 2))), "");
}

}  // namespace
}  // namespace stretto
