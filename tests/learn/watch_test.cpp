// SPDX-License-Identifier: Apache-2.0
#include "learn/races/watch.hpp"

#include <gtest/gtest.h>

namespace stretto {
namespace {

using enum Watch::Finding;

/// Returns a row of calls that take these seconds, as the next calls of a job.
Recent recent_of(Watch& watch, double seconds) {
  for (std::uint64_t number = 1; number <= Watch::window; ++number) watch.count(seconds, 1024, number);
  return watch.recent();
}

TEST(Watch, TheFirstCallsAreWhatIsExpected) {
  Watch watch;
  EXPECT_EQ(watch.look(recent_of(watch, 0.01)), as_usual);
  EXPECT_EQ(watch.expected(1024), 0.01);
  EXPECT_EQ(watch.expected(2048), 0);
}

TEST(Watch, AChangeMustShowTwice) {
  for (const double other : {0.005, 0.02}) {
    Watch watch;
    watch.look(recent_of(watch, 0.01));
    EXPECT_EQ(watch.look(recent_of(watch, other)), suspicious);
    EXPECT_EQ(watch.look(recent_of(watch, other)), changed);
  }
}

/// Links that were idle before pass some bytes at once.
TEST(Watch, SavedBytesAreNoChange) {
  Watch watch;
  watch.expect_saved(0.006);
  watch.look(recent_of(watch, 0.01));
  for (int look = 0; look < 4; ++look) EXPECT_EQ(watch.look(recent_of(watch, 0.004)), as_usual);
  EXPECT_FALSE(watch.is_surprised_by(0.004, 1024));
  EXPECT_TRUE(watch.is_surprised_by(0.02, 1024));
  EXPECT_EQ(watch.look(recent_of(watch, 0.02)), changed);
}

TEST(Watch, ADisturbanceIsForgotten) {
  Watch watch;
  watch.look(recent_of(watch, 0.01));
  EXPECT_EQ(watch.look(recent_of(watch, 0.02)), suspicious);
  EXPECT_EQ(watch.look(recent_of(watch, 0.01)), as_usual);
  EXPECT_EQ(watch.look(recent_of(watch, 0.02)), suspicious);
}

TEST(Watch, AFewLateCallsAreNoChange) {
  Watch watch;
  watch.look(recent_of(watch, 0.01));
  recent_of(watch, 0.03);
  watch.count(0.01, 1024, 9);
  watch.count(0.01, 1024, 10);
  EXPECT_EQ(watch.look(watch.recent()), as_usual);
}

TEST(Watch, OnlyCallsOfOneSizeAreCompared) {
  Watch watch;
  watch.expect(0.01, 1024);
  watch.count(0.01, 1024, 1);
  for (std::uint64_t number = 2; number < 20; ++number) watch.count(1, 4096, number);
  EXPECT_EQ(watch.recent().usual, 0);
  EXPECT_EQ(watch.expected(1024), 0.01);
  // A size that does not come back is no longer watched.
  for (std::uint64_t number = 80; number < 90; ++number) watch.count(1, 4096, number);
  EXPECT_EQ(watch.recent().usual, 1);
  EXPECT_EQ(watch.expected(1024), 0);
}

TEST(Watch, ASurpriseThatWasNoneIsTheLastOne) {
  Watch watch;
  watch.expect(0.01, 1024);
  EXPECT_TRUE(watch.is_surprised_by(0.02, 1024));
  EXPECT_EQ(watch.look(recent_of(watch, 0.01)), as_usual);
  EXPECT_FALSE(watch.is_surprised_by(0.02, 1024));
  watch.expect(0.01, 1024);
  EXPECT_TRUE(watch.is_surprised_by(0.02, 1024));
}

TEST(Watch, ACallOfARematchMaySurprise) {
  Watch watch;
  EXPECT_FALSE(watch.is_surprised_by(0.02, 1024));
  watch.expect(0.01, 1024);
  EXPECT_FALSE(watch.is_surprised_by(0.015, 1024));
  EXPECT_FALSE(watch.is_surprised_by(0.02, 4096));
  EXPECT_FALSE(watch.is_surprised_by(0, 1024));
  EXPECT_TRUE(watch.is_surprised_by(0.02, 1024));
  EXPECT_EQ(watch.look(recent_of(watch, 0.02)), changed);
}

}  // namespace
}  // namespace stretto
