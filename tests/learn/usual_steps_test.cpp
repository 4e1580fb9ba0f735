// SPDX-License-Identifier: Apache-2.0
#include "learn/steps/usual_steps.hpp"

#include <gtest/gtest.h>

#include <random>

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

}  // namespace
}  // namespace stretto
