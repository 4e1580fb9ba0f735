// SPDX-License-Identifier: Apache-2.0
#include "threads/core_time.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <thread>

namespace stretto {
namespace {

TEST(CoreTime, IsThePartThatAThreadWaited) {
  const CoreTime earlier{.ran = 1, .waited = 2};
  EXPECT_EQ((CoreTime{.ran = 4, .waited = 3}).waited_since(earlier), 0.25);
  EXPECT_EQ((CoreTime{.ran = 1, .waited = 3}).waited_since(earlier), 1);
  EXPECT_EQ(earlier.waited_since(earlier), 0);
  EXPECT_EQ(CoreTime{}.waited_since({}), 0);
}

/// Two threads on one core wait for each other, whatever else runs there.
TEST(CoreTime, OfAThreadThatSharesItsCore) {
  cpu_set_t usual;
  ASSERT_EQ(sched_getaffinity(0, sizeof usual, &usual), 0);
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);  // a new thread inherits it
  std::atomic<bool> is_done{false};
  std::thread other([&] {
    while (!is_done) {
    }
  });
  const CoreTime began = CoreTime::of_this_thread();
  ASSERT_GT(began.ran, 0);
  while (CoreTime::of_this_thread().waited - began.waited < 0.01) {
  }
  is_done = true;
  other.join();
  const double part = CoreTime::of_this_thread().waited_since(began);
  EXPECT_GT(part, 0);
  EXPECT_LT(part, 1);
  sched_setaffinity(0, sizeof usual, &usual);
}

}  // namespace
}  // namespace stretto
