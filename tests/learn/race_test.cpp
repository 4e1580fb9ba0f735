// SPDX-License-Identifier: Apache-2.0
#include "learn/races/race.hpp"

#include <gtest/gtest.h>

#include "learn/races/policies.hpp"

namespace stretto {
namespace {

using enum Race::Side;

/// Returns a race of calls that are too short for the clock. The defender is the library, the challenger a
/// spec.
Race short_race() {
  return {policies::short_calls, policies::rest_of_short_calls};
}
constexpr std::uint64_t first_rest = policies::rest_of_short_calls.first;
constexpr int calls_of_turn = policies::short_calls[0].calls;

/// Carries a race out in which calls take these times. Returns how many calls of the spec were part of it.
int run(Race& race, double native_seconds, double spec_seconds) {
  int by_spec = 0;
  while (!race.wants_agreement()) {
    const bool is_spec = race.next() == challenger;
    by_spec += is_spec ? 1 : 0;
    race.count(is_spec ? spec_seconds : native_seconds);
  }
  race.agree(race.figures());
  return by_spec;
}

std::uint64_t rest_of(Race& race) {
  std::uint64_t calls = 0;
  for (; race.quiet() > 0; ++calls) race.pass();
  return calls;
}

TEST(Race, BeginsWithTheLibrary) {
  const Race race = short_race();
  EXPECT_EQ(race.next(), defender);
  EXPECT_EQ(race.quiet(), 0U);
  EXPECT_FALSE(race.wants_agreement());
}

TEST(Race, TheFasterOneWins) {
  Race race = short_race();
  run(race, 1e-6, 0.9e-6);
  EXPECT_GT(race.quiet(), 0U);
  EXPECT_EQ(race.next(), challenger);
  Race other = short_race();
  run(other, 0.9e-6, 1e-6);
  EXPECT_EQ(other.next(), defender);
}

TEST(Race, AsFastIsNotEnough) {
  Race race = short_race();
  run(race, 1e-6, 0.99e-6);
  EXPECT_EQ(race.next(), defender);
}

TEST(Race, SingleSlowCallsDoNotCount) {
  Race race = short_race();
  int calls = 0;
  while (!race.wants_agreement()) {
    const double usual = race.next() == challenger ? 1e-6 : 2e-6;
    // A rank that comes late, in every fifth block.
    const bool is_late = ++calls % (5 * calls_of_turn) == 0;
    race.count(is_late ? 1e-3 : usual);
  }
  race.agree(race.figures());
  EXPECT_EQ(race.next(), challenger);
}

TEST(Race, TheSlowestRankDecides) {
  Race fast = short_race();
  Race slow = short_race();
  const auto race_to_the_end = [](Race& race, double by_spec) {
    while (!race.wants_agreement()) race.count(race.next() == challenger ? by_spec : 1e-6);
  };
  race_to_the_end(fast, 0.5e-6);
  race_to_the_end(slow, 2e-6);
  std::vector<double> maxima = fast.figures();
  for (std::size_t i = 0; i < maxima.size(); ++i) maxima.at(i) = std::max(maxima.at(i), slow.figures().at(i));
  fast.agree(maxima);
  slow.agree(maxima);
  EXPECT_EQ(fast.next(), defender);
  EXPECT_EQ(slow.next(), defender);
}

TEST(Race, IsRepeatedMoreAndMoreSeldom) {
  Race race = short_race();
  std::uint64_t before = 0;
  for (int i = 0; i < 6; ++i) {
    run(race, 1e-6, 0.8e-6);
    const std::uint64_t rest = rest_of(race);
    EXPECT_GE(rest, std::max(first_rest, before));
    before = rest;
  }
  EXPECT_EQ(before, 32 * first_rest);
}

TEST(Race, WhatTheLoserCostsIsAHalfPerCent) {
  for (const double slower : {1.5, 3.0, 20.0}) {
    Race race = short_race();
    const int calls = run(race, 1e-6, slower * 1e-6);
    const double lost = calls * (slower - 1);
    EXPECT_LE(lost, 0.0051 * static_cast<double>(rest_of(race)));
  }
}

TEST(Race, ANewRaceMayHaveAnotherWinner) {
  Race race = short_race();
  run(race, 1e-6, 0.5e-6);
  rest_of(race);
  run(race, 1e-6, 1.5e-6);
  EXPECT_EQ(race.next(), defender);
}

TEST(Race, AClockThatStandsStillMeasuresNothing) {
  Race race = short_race();
  run(race, 0, 0);
  EXPECT_EQ(race.next(), defender);
  EXPECT_GT(race.quiet(), 0U);
}

}  // namespace
}  // namespace stretto
