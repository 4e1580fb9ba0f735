// SPDX-License-Identifier: Apache-2.0
#include "learn/races/short_race.hpp"

#include <gtest/gtest.h>

namespace stretto {
namespace {

using enum ShortRace::Side;

/// Carries a race out, in which calls take so long. Returns how many calls of the spec were part of it.
int run(ShortRace& race, double native_seconds, double spec_seconds) {
  int by_spec = 0;
  while (!race.wants_agreement()) {
    const bool is_spec = race.next() == spec;
    by_spec += is_spec ? 1 : 0;
    race.count(is_spec ? spec_seconds : native_seconds);
  }
  race.agree(race.figures());
  return by_spec;
}

std::uint64_t rest_of(ShortRace& race) {
  std::uint64_t calls = 0;
  for (; race.is_quiet(); ++calls) race.pass();
  return calls;
}

TEST(ShortRace, BeginsWithTheLibrary) {
  const ShortRace race;
  EXPECT_EQ(race.next(), native);
  EXPECT_FALSE(race.is_quiet());
  EXPECT_FALSE(race.wants_agreement());
}

TEST(ShortRace, TheFasterOneWins) {
  ShortRace race;
  run(race, 1e-6, 0.9e-6);
  EXPECT_TRUE(race.is_quiet());
  EXPECT_EQ(race.next(), spec);
  ShortRace other;
  run(other, 0.9e-6, 1e-6);
  EXPECT_EQ(other.next(), native);
}

TEST(ShortRace, AsFastIsNotEnough) {
  ShortRace race;
  run(race, 1e-6, 0.99e-6);
  EXPECT_EQ(race.next(), native);
}

TEST(ShortRace, SingleSlowCallsDoNotCount) {
  ShortRace race;
  int calls = 0;
  while (!race.wants_agreement()) {
    const double usual = race.next() == spec ? 1e-6 : 2e-6;
    // A rank that comes late, in every fifth block.
    const bool is_late = ++calls % (5 * static_cast<int>(ShortRace::calls_of_block)) == 0;
    race.count(is_late ? 1e-3 : usual);
  }
  race.agree(race.figures());
  EXPECT_EQ(race.next(), spec);
}

TEST(ShortRace, TheSlowestRankDecides) {
  ShortRace fast;
  ShortRace slow;
  const auto race_to_the_end = [](ShortRace& race, double by_spec) {
    while (!race.wants_agreement()) race.count(race.next() == spec ? by_spec : 1e-6);
  };
  race_to_the_end(fast, 0.5e-6);
  race_to_the_end(slow, 2e-6);
  ShortRace::Figures maxima = fast.figures();
  for (std::size_t i = 0; i < maxima.size(); ++i) maxima.at(i) = std::max(maxima.at(i), slow.figures().at(i));
  fast.agree(maxima);
  slow.agree(maxima);
  EXPECT_EQ(fast.next(), native);
  EXPECT_EQ(slow.next(), native);
}

TEST(ShortRace, IsRepeatedMoreAndMoreSeldom) {
  ShortRace race;
  std::uint64_t before = 0;
  for (int i = 0; i < 6; ++i) {
    run(race, 1e-6, 0.8e-6);
    const std::uint64_t rest = rest_of(race);
    EXPECT_GE(rest, std::max(ShortRace::first_rest, before));
    before = rest;
  }
  EXPECT_EQ(before, 32 * ShortRace::first_rest);
}

TEST(ShortRace, WhatTheLoserCostsIsAHalfPerCent) {
  for (const double slower : {1.5, 3.0, 20.0}) {
    ShortRace race;
    const int calls = run(race, 1e-6, slower * 1e-6);
    const double lost = calls * (slower - 1);
    EXPECT_LE(lost, 0.0051 * static_cast<double>(rest_of(race)));
  }
}

TEST(ShortRace, ANewRaceMayHaveAnotherWinner) {
  ShortRace race;
  run(race, 1e-6, 0.5e-6);
  rest_of(race);
  run(race, 1e-6, 1.5e-6);
  EXPECT_EQ(race.next(), native);
}

TEST(ShortRace, AClockThatStandsStillMeasuresNothing) {
  ShortRace race;
  run(race, 0, 0);
  EXPECT_EQ(race.next(), native);
  EXPECT_TRUE(race.is_quiet());
}

}  // namespace
}  // namespace stretto
