// SPDX-License-Identifier: Apache-2.0
#include "learn/races/near_best.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "text/size.hpp"

namespace stretto {
namespace {

CallShape shape(Collective collective, std::size_t bytes) {
  return {.collective = collective, .bytes = bytes, .ranks = 8, .nodes = 8};
}

std::vector<std::string> texts(const std::vector<Candidate>& candidates) {
  std::vector<std::string> all;
  for (const Candidate& candidate : candidates) all.push_back(to_string(candidate.spec));
  return all;
}

bool has(const std::vector<std::string>& all, const std::string& text) {
  return std::ranges::find(all, text) != all.end();
}

TEST(NearBest, BeginsWithTheLibraryAndOtherSegments) {
  const Spec standing = parse_spec(Collective::allreduce, "ring:segment_bytes=256KiB");
  const auto all = texts(near_best(standing, shape(Collective::allreduce, 4 * mebibyte), nullptr, nullptr));
  ASSERT_GE(all.size(), 4U);
  EXPECT_EQ(all[0], "native");
  EXPECT_EQ(all[1], "ring:segment_bytes=64KiB");
  EXPECT_EQ(all[2], "ring:segment_bytes=1MiB");
  EXPECT_TRUE(
      has(all, "rabenseifner:segment_bytes=" + std::to_string(8 * rule_constants.message / 1024) + "KiB"));
  EXPECT_FALSE(has(all, "ring:segment_bytes=256KiB"));
}

TEST(NearBest, SegmentsAreNoLongerThanTheMessage) {
  const Spec standing = parse_spec(Collective::allreduce, "ring:segment_bytes=256KiB");
  const auto all = texts(near_best(standing, shape(Collective::allreduce, mebibyte / 2), nullptr, nullptr));
  EXPECT_FALSE(has(all, "ring:segment_bytes=1MiB"));
}

TEST(NearBest, ShortMessagesTakeFewRounds) {
  const auto has_for = [](Collective collective, std::size_t bytes, const char* text) {
    return has(texts(near_best(Spec{}, shape(collective, bytes), nullptr, nullptr)), text);
  };
  EXPECT_TRUE(has_for(Collective::allreduce, 16384, "recursive_doubling"));
  EXPECT_TRUE(has_for(Collective::bcast, 16384, "binomial"));
  EXPECT_TRUE(has_for(Collective::reduce, 16384, "binomial"));
  EXPECT_FALSE(has_for(Collective::allreduce, mebibyte, "recursive_doubling"));
}

TEST(NearBest, TriesEveryAlgorithmThatIsGoodForSomething) {
  for (const Algorithm& algorithm : algorithms()) {
    if (!algorithm.use.short_messages && !algorithm.use.long_messages) continue;
    const std::size_t bytes = algorithm.use.short_messages ? 16 * kibibyte : 4 * mebibyte;
    const auto all = near_best(Spec{}, shape(algorithm.collective, bytes), nullptr, nullptr);
    EXPECT_TRUE(std::ranges::any_of(all, [&](const Candidate& one) {
      return one.spec.recipe.algorithm == &algorithm;
    })) << algorithm.name;
  }
}

TEST(NearBest, TakesWhatTheTableSaysNearby) {
  const Table table = parse_table(R"json({"format": "stretto-table", "version": 1, "mpi": "MPICH 4.0.2",
    "shapes": [
      {"nodes": 8, "ppn": 1, "bcast": [
        {"from": 0, "spec": "binomial"}, {"from": "64KiB", "spec": "knomial:radix=3"},
        {"from": "1MiB", "spec": "chain:segments=3"}, {"from": "4MiB", "spec": "chain:segments=5"}]},
      {"nodes": 16, "ppn": 1, "bcast": [{"from": 0, "spec": "chain:segments=9"}]},
      {"nodes": 8, "ppn": 2, "bcast": [{"from": 0, "spec": "chain:segments=11"}]}]})json");
  const Spec standing = parse_spec(Collective::bcast, "chain:segments=3");
  const auto all =
      texts(near_best(standing, shape(Collective::bcast, mebibyte), &table, &table.shapes.front()));
  EXPECT_TRUE(has(all, "knomial:radix=3"));
  EXPECT_TRUE(has(all, "chain:segments=5"));
  EXPECT_TRUE(has(all, "chain:segments=9"));
  EXPECT_FALSE(has(all, "binomial"));
  EXPECT_FALSE(has(all, "chain:segments=11"));
}

TEST(NearBest, NoneTwiceAndNotTheStandingChoice) {
  for (const Collective collective : collectives) {
    for (const std::size_t bytes : {std::size_t{1}, mebibyte, std::size_t{1} << 34}) {
      for (const char* text :
           {"native", "multilane:segment_bytes=1GiB", "ring", "chain:segment_bytes=32KiB"}) {
        Spec standing;
        try {
          standing = parse_spec(collective, text);
        } catch (const SpecError&) {
          continue;
        }
        const auto all = texts(near_best(standing, shape(collective, bytes), nullptr, nullptr));
        EXPECT_EQ(std::set<std::string>(all.begin(), all.end()).size(), all.size());
        EXPECT_FALSE(has(all, to_string(standing)));
        EXPECT_EQ(has(all, "native"), !standing.is_pass_through());
        for (const std::string& one : all) EXPECT_EQ(to_string(parse_spec(collective, one)), one);
      }
    }
  }
}

}  // namespace
}  // namespace stretto
