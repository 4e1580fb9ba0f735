// SPDX-License-Identifier: Apache-2.0
#include "learn/races/trial.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

#include "learn/races/policies.hpp"

namespace stretto {
namespace {

using enum Trial::Verdict;
using Side = Trial::Side;

struct Fought {
  Trial::Verdict verdict = open;
  int calls = 0;
  int by_challenger = 0;
};

/// Carries out a trial. `seconds`: the time of the n-th call of a side.
Fought fight(Trial duel, const std::function<double(bool by_challenger, int n)>& seconds) {
  Fought fought;
  int by_defender = 0;
  while (fought.verdict == open) {
    const bool by_challenger = duel.next() == Side::challenger;
    duel.count(seconds(by_challenger, by_challenger ? fought.by_challenger : by_defender));
    ++(by_challenger ? fought.by_challenger : by_defender);
    ++fought.calls;
    if (duel.wants_agreement()) fought.verdict = duel.agree(duel.figures());
  }
  return fought;
}

Fought fight(Trial duel, double defender, double challenger) {
  return fight(duel, [&](bool by_challenger, int) { return by_challenger ? challenger : defender; });
}

TEST(Trial, APlainWinnerIsKnownAfterFourLongCalls) {
  const Fought fought = fight(Trial(policies::duel), 0.03, 0.02);
  EXPECT_EQ(fought.verdict, challenger);
  EXPECT_EQ(fought.calls, 4);
}

TEST(Trial, AHopelessChallengerIsCalledTwice) {
  for (const double seconds : {0.03, 0.001}) {
    const Fought fought = fight(Trial(policies::duel), seconds, 1.8 * seconds);
    EXPECT_EQ(fought.verdict, defender);
    EXPECT_EQ(fought.by_challenger, 2);
  }
  EXPECT_EQ(fight(Trial(policies::duel), 1e-4, 3e-4).by_challenger, 2);
  // In a rematch, it must be faster.
  EXPECT_EQ(fight(Trial(policies::rematch), 0.001, 0.0012).by_challenger, 2);
}

TEST(Trial, OfLongCallsOneEachIsEnoughForAPlainDifference) {
  for (const Side first : {Side::defender, Side::challenger}) {
    const Fought slower = fight(Trial(policies::long_duel, first), 0.7, 1.0);
    EXPECT_EQ(slower.verdict, defender);
    EXPECT_EQ(slower.calls, 2);
    const Fought faster = fight(Trial(policies::long_duel, first), 4.9, 0.7);
    EXPECT_EQ(faster.verdict, challenger);
    EXPECT_EQ(faster.calls, 2);
  }
  // A single call does not overturn a decision, unless `native` is the faster side.
  EXPECT_GT(fight(Trial(policies::long_rematch), 4.9, 0.7).calls, 2);
  EXPECT_EQ(fight(Trial(policies::long_rematch_with_native), 4.9, 0.7).calls, 2);
}

TEST(Trial, LongCallsThatDifferLittleAreComparedLikeOthers) {
  for (double ratio = 0.78; ratio < 1.29; ratio += 0.01) {
    const Fought fought = fight(Trial(policies::long_duel), 0.1, 0.1 * ratio);
    EXPECT_GT(fought.calls, 2);
    EXPECT_LE(fought.calls, 20);
    EXPECT_EQ(fought.verdict, ratio < 0.97 ? challenger : defender) << ratio;
  }
}

TEST(Trial, ItEndsAfterTwentyCallsAtMost) {
  for (double ratio = 0.505; ratio < 2; ratio += 0.01) {
    for (const double seconds : {1e-4, 1e-3, 1e-2}) {
      const Fought fought = fight(Trial(policies::duel), seconds, ratio * seconds);
      EXPECT_LE(fought.calls, 20);
      EXPECT_EQ(fought.verdict, ratio < 0.97 ? challenger : defender) << ratio;
    }
  }
}

TEST(Trial, WhereNothingDiffersTheDefenderStays) {
  std::mt19937 random(1);
  std::normal_distribution<double> normal;
  for (const auto& stages : {policies::duel, policies::rematch}) {
    int won = 0;
    for (int i = 0; i < 1000; ++i) {
      const Fought fought =
          fight(Trial(stages), [&](bool, int) { return 0.001 * std::exp(0.1 * normal(random)); });
      won += fought.verdict == challenger ? 1 : 0;
    }
    EXPECT_LT(won, 50);
  }
}

/// Two of six calls by the defender wait for the scheduler, as if ranks share cores.
TEST(Trial, ARematchCountsCallsThatAreSlowNowAndThen) {
  const auto seconds = [](bool by_challenger, int n) {
    return by_challenger ? 0.0008 : n % 3 == 2 ? 0.004 : 0.0008;
  };
  EXPECT_EQ(fight(Trial(policies::duel), seconds).verdict, defender);
  EXPECT_EQ(fight(Trial(policies::rematch), seconds).verdict, challenger);
}

/// A late turn does not end a duel even if, for some time, half of the pairs of turns favour the other side.
TEST(Trial, OneLateTurnDoesNotEndADuel) {
  // Two calls in a row of the second turn that counts are late.
  const auto seconds = [](bool by_challenger, int n) {
    return !by_challenger ? 0.001 : n == 4 || n == 5 ? 0.002 : 0.0006;
  };
  EXPECT_EQ(fight(Trial(policies::duel), seconds).verdict, challenger);
  EXPECT_EQ(fight(Trial(policies::duel_with_native), seconds).verdict, challenger);
}

TEST(Trial, AFastFirstCallDoesNotEndADuel) {
  // An emulated link passes its saved bytes at once, so the first calls are fast, whichever side makes them.
  for (const Side first : {Side::defender, Side::challenger}) {
    const Fought fought = fight(Trial(policies::duel, first), [](bool by_challenger, int n) {
      const double usual = by_challenger ? 0.0024 : 0.0053;
      return n == 0 ? 0.0015 : usual;
    });
    EXPECT_EQ(fought.verdict, challenger);
  }
  const Fought slow = fight(Trial(policies::duel, Side::challenger), [](bool by_challenger, int n) {
    const double usual = by_challenger ? 0.0024 : 0.0053;
    return n == 0 && !by_challenger ? 0.0015 : usual;
  });
  EXPECT_EQ(slow.verdict, challenger);
}

TEST(Trial, WithoutAnAgreementTheDefenderGoesOn) {
  Trial duel(policies::duel);
  while (!duel.wants_agreement()) duel.count(0.01);
  EXPECT_EQ(duel.next(), Side::defender);
  duel.count(0.01);
  EXPECT_TRUE(duel.wants_agreement());
}

TEST(Trial, WhatIsSetUpAndALateRankAreNoLosses) {
  Trial duel(policies::duel);
  for (const double one : {0.01, 0.5, 0.01, 0.012}) duel.count(one);
  EXPECT_EQ(duel.agree(duel.figures()), open);
  EXPECT_NEAR(duel.lost(), 0.004, 1e-9);
  // Half of the next two turns are two calls by the challenger.
  EXPECT_NEAR(duel.lost_after_next_stage(), 0.008, 1e-9);
}

}  // namespace
}  // namespace stretto
