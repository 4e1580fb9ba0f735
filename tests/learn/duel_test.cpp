// SPDX-License-Identifier: Apache-2.0
#include "learn/races/duel.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

namespace stretto {
namespace {

using enum Duel::Verdict;

struct Fought {
  Duel::Verdict verdict = open;
  int calls = 0;
  int by_challenger = 0;
};

/// `seconds`: of a call by the challenger or not, the n-th of that side.
Fought fight(Duel duel, const std::function<double(bool by_challenger, int n)>& seconds) {
  Fought fought;
  int by_defender = 0;
  while (fought.verdict == open) {
    const bool by_challenger = duel.next() == Duel::Side::challenger;
    duel.count(seconds(by_challenger, by_challenger ? fought.by_challenger : by_defender));
    ++(by_challenger ? fought.by_challenger : by_defender);
    ++fought.calls;
    if (duel.wants_agreement()) fought.verdict = duel.agree(duel.times());
  }
  return fought;
}

Fought fight(Duel duel, double defender, double challenger) {
  return fight(duel, [&](bool by_challenger, int) { return by_challenger ? challenger : defender; });
}

TEST(Duel, APlainWinnerIsKnownAfterFourLongCalls) {
  const Fought fought = fight(Duel(false), 0.03, 0.02);
  EXPECT_EQ(fought.verdict, challenger);
  EXPECT_EQ(fought.calls, 4);
}

TEST(Duel, AHopelessChallengerIsCalledTwice) {
  for (const double seconds : {0.03, 0.001}) {
    const Fought fought = fight(Duel(false), seconds, 1.8 * seconds);
    EXPECT_EQ(fought.verdict, defender);
    EXPECT_EQ(fought.by_challenger, 2);
  }
  EXPECT_EQ(fight(Duel(false), 1e-4, 3e-4).by_challenger, 2);
  // In a rematch, it must be faster.
  EXPECT_EQ(fight(Duel(false, Duel::Side::defender, Duel::Kind::rematch), 0.001, 0.0012).by_challenger, 2);
}

TEST(Duel, ItEndsAfterTwentyCallsAtMost) {
  for (double ratio = 0.505; ratio < 2; ratio += 0.01) {
    for (const double seconds : {1e-4, 1e-3, 1e-2}) {
      const Fought fought = fight(Duel(false), seconds, ratio * seconds);
      EXPECT_LE(fought.calls, 20);
      EXPECT_EQ(fought.verdict, ratio < 0.97 ? challenger : defender) << ratio;
    }
  }
}

TEST(Duel, WhereNothingDiffersTheDefenderStays) {
  std::mt19937 random(1);
  std::normal_distribution<double> normal;
  for (const Duel::Kind kind : {Duel::Kind::first, Duel::Kind::rematch}) {
    int won = 0;
    for (int i = 0; i < 1000; ++i) {
      const Fought fought = fight(Duel(false, Duel::Side::defender, kind),
                                  [&](bool, int) { return 0.001 * std::exp(0.1 * normal(random)); });
      won += fought.verdict == challenger ? 1 : 0;
    }
    EXPECT_LT(won, 50);
  }
}

/// Two of six calls by the defender wait for a scheduler, as where ranks share cores.
TEST(Duel, ARematchCountsCallsThatAreSlowNowAndThen) {
  const auto seconds = [](bool by_challenger, int n) {
    return by_challenger ? 0.0008 : n % 3 == 2 ? 0.004 : 0.0008;
  };
  EXPECT_EQ(fight(Duel(false), seconds).verdict, defender);
  EXPECT_EQ(fight(Duel(false, Duel::Side::defender, Duel::Kind::rematch), seconds).verdict, challenger);
}

TEST(Duel, WhatIsSetUpAndALateRankAreNoLosses) {
  Duel duel(false);
  for (const double one : {0.01, 0.5, 0.01, 0.012}) duel.count(one);
  EXPECT_EQ(duel.agree(duel.times()), open);
  EXPECT_NEAR(duel.lost(), 0.004, 1e-9);
  // Half of the next two turns are two calls by the challenger.
  EXPECT_NEAR(duel.lost_after_next_stage(), 0.008, 1e-9);
}

}  // namespace
}  // namespace stretto
