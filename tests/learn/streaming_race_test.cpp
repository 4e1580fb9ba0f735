// SPDX-License-Identifier: Apache-2.0
#include "learn/races/streaming_race.hpp"

#include <gtest/gtest.h>

#include <array>

namespace stretto {
namespace {

using enum StreamingRace::Copying;
using Seconds = std::array<double, StreamingRace::ways>;

/// Makes calls that take these seconds, by way. Returns how many of them did not use the way in force.
int run(StreamingRace& race, const Seconds& seconds, int calls) {
  int others = 0;
  for (int i = 0; i < calls; ++i) {
    const auto way = race.next();
    others += way != race.winner() ? 1 : 0;
    race.count(seconds.at(static_cast<std::size_t>(way)));
  }
  return others;
}

TEST(StreamingRace, TheFastestWayWins) {
  StreamingRace race(3);
  run(race, {3, 2, 1}, 100);
  EXPECT_EQ(race.winner(), everywhere);
  EXPECT_EQ(race.next(), everywhere);
}

TEST(StreamingRace, OnlyThoseThatTakePart) {
  StreamingRace race(2);
  run(race, {3, 2, 1}, 100);
  EXPECT_EQ(race.winner(), into_store);
}

TEST(StreamingRace, AsFastIsNotEnough) {
  StreamingRace race(3);
  run(race, {1, 0.97, 0.98}, 1000);
  EXPECT_EQ(race.winner(), cached);
}

TEST(StreamingRace, WinsByChanceDoNotCount) {
  StreamingRace race(2);
  int turns = 0;
  for (int i = 0; i < 5000; ++i) {
    const bool streams = race.next() == into_store;
    // Every other time the way in force looks slow for all of its turns.
    const bool looks_slow = !streams && turns / 3 % 2 == 0;
    turns += !streams ? 1 : 0;
    race.count(looks_slow ? 1.5 : 1);
    if (race.winner() != cached) FAIL() << "after " << i << " calls";
    if (race.next() == cached && turns > 100) break;
  }
}

TEST(StreamingRace, RanksThatComeLateDoNotCount) {
  StreamingRace race(2);
  for (int i = 0; i < 100; ++i) {
    const double usual = race.next() == into_store ? 1 : 2;
    race.count(i % 4 == 0 ? 100 : usual);
  }
  EXPECT_EQ(race.winner(), into_store);
}

TEST(StreamingRace, FollowsAMachineThatChanges) {
  StreamingRace race(2);
  run(race, {1, 2.4}, 5000);
  EXPECT_EQ(race.winner(), cached);
  run(race, {2.4, 1}, 2100);
  EXPECT_EQ(race.winner(), into_store);
  run(race, {1, 2.4}, 2100);
  EXPECT_EQ(race.winner(), cached);
}

TEST(StreamingRace, LosersCostLittle) {
  for (const double slower : {1.02, 1.2, 2.4, 10.0}) {
    StreamingRace race(3);
    run(race, {1, slower, slower}, 100);
    constexpr int calls = 20000;
    const int others = run(race, {1, slower, slower}, calls);
    EXPECT_LE(others * (slower - 1), 0.012 * calls + 6 * (slower - 1)) << slower;
  }
}

TEST(StreamingRace, AClockThatJumpsMeasuresNothing) {
  StreamingRace race(2);
  run(race, {1, -1}, 1000);
  EXPECT_EQ(race.winner(), cached);
  StreamingRace other(2);
  run(other, {0, 0}, 1000);
  EXPECT_EQ(other.winner(), cached);
}

}  // namespace
}  // namespace stretto
