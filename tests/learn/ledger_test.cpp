// SPDX-License-Identifier: Apache-2.0
#include "learn/races/ledger.hpp"

#include <gtest/gtest.h>

namespace stretto {
namespace {

TEST(Ledger, KnowsARecentCall) {
  Ledger ledger;
  EXPECT_EQ(ledger.call(), 0);
  ledger.add_calls(0.04, 4);
  EXPECT_DOUBLE_EQ(ledger.call(), 0.01);
  // These calls are too few to change the result.
  ledger.add_calls(0.08, 4);
  EXPECT_DOUBLE_EQ(ledger.call(), 0.01);
  ledger.add_calls(0.24, 12);
  EXPECT_DOUBLE_EQ(ledger.call(), 0.02);
}

TEST(Ledger, TheFirst200CallsCountAtOnce) {
  Ledger ledger;
  const double at_first = ledger.left_for_duels(0.01);
  EXPECT_LT(at_first, 0.02 * 2);
  EXPECT_GT(at_first, 0.005 * 2);
  ledger.add_calls(1.9, 190);
  EXPECT_DOUBLE_EQ(ledger.left_for_duels(0.01), at_first);
  ledger.add_calls(2.1, 210);
  EXPECT_DOUBLE_EQ(ledger.left_for_duels(0.01), 2 * at_first);
}

TEST(Ledger, LossesAndAgreementsCountAndAPartOfWhatWasWon) {
  Ledger ledger;
  const double at_first = ledger.left_for_duels(0.01);
  ledger.lose(0.004);
  ledger.add_agreement(0.001);
  ledger.add_agreement(0.003);
  EXPECT_DOUBLE_EQ(ledger.agreement(), 0.002);
  EXPECT_DOUBLE_EQ(ledger.left_for_duels(0.01), at_first - 0.008);
  ledger.win(0.1);
  const double left = ledger.left_for_duels(0.01);
  EXPECT_GT(left, at_first);
  EXPECT_LT(left, at_first + 0.1);
}

TEST(Ledger, WhatIsEarnedIsThereAfterThatManyCalls) {
  Ledger ledger;
  ledger.add_calls(10, 1000);
  ledger.lose(1);
  const double missing = -ledger.left_for_duels(0.01);
  ASSERT_GT(missing, 0);
  // Each call takes 0.004 s less than `native`.
  const double calls = Ledger::calls_to_earn(missing, 0.01, 0.004);
  ledger.add_calls(0.01 * calls, static_cast<std::uint64_t>(calls));
  ledger.win(0.004 * calls);
  EXPECT_NEAR(ledger.left_for_duels(0.01), 0, 1e-9);
}

TEST(Ledger, TheFirstChangeNeverWaitsAndTheNextUntilTheLossesBeforeArePaid) {
  Ledger before;
  before.add_calls(10, 1000);
  before.lose(1);
  EXPECT_TRUE(before.allows_change());
  Ledger ledger;
  ledger.take_over(before);
  EXPECT_LT(ledger.left_for_duels(0.01), 0);
  EXPECT_FALSE(ledger.allows_change());
  ledger.lose(1);
  ledger.add_calls(40, 4000);
  EXPECT_TRUE(ledger.allows_change());
}

}  // namespace
}  // namespace stretto
