// SPDX-License-Identifier: Apache-2.0
#include "learn/steps/usual_steps.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <utility>

namespace stretto {
namespace {

TEST(UsualSteps, TheFirstOnesSayNothing) {
  UsualSteps steps;
  for (int step = 0; step < 7; ++step) steps.add(1);
  EXPECT_FALSE(steps.limit());
  steps.add(1);
  EXPECT_TRUE(steps.limit());
}

/// With the time for the answers, a rank that is stuck is named within five steps.
TEST(UsualSteps, FourOfThemAreTooLong) {
  UsualSteps steps;
  steps.add(60);  // it also sets things up
  for (int step = 0; step < 100; ++step) steps.add(step % 2 == 0 ? 0.9 : 1.1);
  EXPECT_NEAR(steps.limit().value(), 4, 0.5);
  for (int step = 0; step < 100; ++step) steps.add(10);  // the program does something else now
  EXPECT_NEAR(steps.limit().value(), 40, 1);
}

TEST(UsualSteps, ShortOnesLeaveTimeForTheOperatingSystem) {
  UsualSteps steps;
  for (int step = 0; step < 100; ++step) steps.add(1e-3);
  EXPECT_GE(steps.limit().value(), 0.5);
}

/// A look sees that calls were made, but not when.
TEST(UsualSteps, NoneIsLostBetweenTwoLooks) {
  UsualSteps steps;
  for (int look = 0; look < 100; ++look) steps.add(2, 5);
  EXPECT_NEAR(steps.limit().value(), 4, 0.1);
  UsualSteps few;
  few.add(0.2, 20);
  EXPECT_TRUE(few.limit());
}

/// Many calls make one step of a training, and each hundredth step is followed by a longer pause.
TEST(UsualSteps, NoFalseAlarmInManyNoisyOnes) {
  std::mt19937 random(1);
  std::lognormal_distribution<double> noise(0, 0.3);
  UsualSteps steps;
  int alarms = 0;
  for (int step = 0; step < 100'000; ++step) {
    const double pause = step % 100 == 99 ? 8 : 0;
    const double seconds = (step % 4 == 3 ? 1 : 0.05) * noise(random) + pause * noise(random);
    const auto limit = steps.limit();
    // The first pauses are new.
    if (step > 1000 && limit && seconds > *limit) ++alarms;
    steps.add(seconds);
  }
  EXPECT_EQ(alarms, 0);
}

/// The same program, as somebody sees it who looks at it five times a second.
TEST(UsualSteps, NoFalseAlarmBetweenLooks) {
  constexpr double look = 0.2;
  std::mt19937 random(2);
  std::lognormal_distribution<double> noise(0, 0.5);
  UsualSteps steps;
  double now = 0;
  double seen_at = 0;
  std::uint64_t unseen = 0;
  int alarms = 0;
  for (int step = 0; step < 100'000; ++step) {
    const double seconds = (step % 4 == 3 ? 0.3 : 0.01) * noise(random) + (step % 1000 == 999 ? 2 : 0);
    const auto limit = steps.limit();
    if (step > 3000 && limit && seconds > *limit) ++alarms;
    now += seconds;
    ++unseen;
    const double last_look = std::floor(now / look) * look;
    if (last_look <= seen_at) continue;
    steps.add(last_look - seen_at, std::exchange(unseen, 0));
    seen_at = last_look;
  }
  EXPECT_EQ(alarms, 0);
}

}  // namespace
}  // namespace stretto
