// SPDX-License-Identifier: Apache-2.0
#include "learn/races/late_rank.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace stretto {
namespace {

/// Ranks that compare the times of their calls.
class Ranks {
 public:
  explicit Ranks(std::size_t count) : looks_(count) {}

  /// Returns who is late after one look; `usual`: [rank] seconds. All ranks find the same.
  std::optional<LateRank::Found> look(const std::vector<double>& usual) {
    std::vector<double> agreed(LateRank::figure_count, -1e300);
    for (std::size_t rank = 0; rank < looks_.size(); ++rank) {
      std::vector<double> figures;
      looks_[rank].append_figures(figures, static_cast<int>(rank), usual[rank]);
      EXPECT_EQ(figures.size(), LateRank::figure_count);
      for (std::size_t i = 0; i < figures.size(); ++i) agreed[i] = std::max(agreed[i], figures[i]);
    }
    for (LateRank& one : looks_) one.look(agreed);
    for (const LateRank& one : looks_) EXPECT_EQ(one.found(), looks_[0].found());
    return looks_[0].found();
  }

 private:
  std::vector<LateRank> looks_;
};

TEST(LateRank, IsTheOneForWhichTheOthersWait) {
  std::mt19937 random(1);
  for (int count = 2; count < 40; ++count) {
    const auto ranks = static_cast<std::size_t>(count);
    const std::size_t late = random() % ranks;
    std::vector<double> usual;
    for (std::size_t rank = 0; rank < ranks; ++rank)
      usual.push_back(rank == late ? 0.1 : 0.15 + 0.001 * static_cast<double>(random() % 9));
    Ranks all(ranks);
    EXPECT_FALSE(all.look(usual)) << "it is a suspect only";
    const auto found = all.look(usual);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->rank, static_cast<int>(late));
    EXPECT_NEAR(found->call_seconds, 0.1, 2e-6);
    EXPECT_GE(found->seconds, 0.0499);
    EXPECT_LE(found->seconds, 0.0581);
  }
}

TEST(LateRank, OfTwoThatAreLateNoneIsFound) {
  Ranks all(4);
  for (int look = 0; look < 4; ++look) EXPECT_FALSE(all.look({0.15, 0.1, 0.15, 0.101}));
}

TEST(LateRank, IsNoLongerFoundOnceItIsPrompt) {
  Ranks all(3);
  all.look({0.15, 0.1, 0.15});
  EXPECT_TRUE(all.look({0.15, 0.1, 0.15}));
  EXPECT_FALSE(all.look({0.1, 0.1, 0.1}));
  EXPECT_FALSE(all.look({0.15, 0.15, 0.1})) << "another one is a suspect";
  EXPECT_TRUE(all.look({0.15, 0.15, 0.1}));
}

TEST(LateRank, TimesThatAreNotKnownSayNothing) {
  Ranks all(3);
  for (const double wrong : {0.0, -1.0, 1e300, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_FALSE(all.look({wrong, wrong, wrong}));
    EXPECT_FALSE(all.look({wrong, wrong, wrong}));
    EXPECT_FALSE(all.look({wrong, 0.1, wrong}));
    EXPECT_FALSE(all.look({wrong, 0.1, wrong}));
  }
}

}  // namespace
}  // namespace stretto
