// SPDX-License-Identifier: Apache-2.0
#include "threads/helper_thread.hpp"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/resource.h>

#include <cstddef>

namespace stretto {
namespace {

/// Returns the size of a helper's stack in MiB.
std::size_t stack_of_helper() {
  std::size_t bytes = 0;
  HelperThread thread;
  thread.start("test", [&] {
    pthread_attr_t attributes;
    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getstacksize(&attributes, &bytes);
    pthread_attr_destroy(&attributes);
  });
  thread.join();
  return bytes >> 20;
}

TEST(HelperThread, ItsStackIsLikeTheProgramsWithinBounds) {
  struct Case {
    rlim_t limit;
    std::size_t expected;  // MiB
  };
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_STACK, &before), 0);
  for (const auto& [limit, expected] : {Case{rlim_t{1} << 20, 8}, Case{rlim_t{16} << 20, 16},
                                        Case{rlim_t{1} << 30, 64}, Case{RLIM_INFINITY, 8}}) {
    if (limit > before.rlim_max) continue;
    const rlimit now{.rlim_cur = limit, .rlim_max = before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_STACK, &now), 0);
    EXPECT_EQ(stack_of_helper(), expected) << limit;
  }
  setrlimit(RLIMIT_STACK, &before);
}

}  // namespace
}  // namespace stretto
