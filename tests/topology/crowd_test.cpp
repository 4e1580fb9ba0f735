// SPDX-License-Identifier: Apache-2.0
#include "topology/crowd.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace stretto {
namespace {

bool crowded(const std::vector<CpuSpan>& spans) {
  return are_crowded(spans);
}

TEST(Crowd, RanksThatMayRunAnywhere) {
  EXPECT_FALSE(crowded({{0, 1, 2}, {0, 1, 2}}));
  EXPECT_TRUE(crowded({{0, 1, 2}, {0, 1, 2}, {0, 1, 2}}));
}

TEST(Crowd, RanksThatAreBound) {
  EXPECT_FALSE(crowded({{0, 0, 1}, {1, 1, 1}}));
  EXPECT_TRUE(crowded({{0, 0, 1}, {1, 1, 1}, {1, 1, 1}}));
  // Each has a core with two hardware threads, which are far from each other in Linux's count.
  EXPECT_FALSE(crowded({{0, 4, 2}, {1, 5, 2}, {2, 6, 2}, {3, 7, 2}}));
  EXPECT_TRUE(crowded({{0, 4, 2}, {0, 4, 2}, {0, 4, 2}}));
}

TEST(Crowd, SpansThatOverlap) {
  EXPECT_TRUE(crowded({{0, 1, 2}, {0, 1, 2}, {1, 1, 1}}));
  EXPECT_FALSE(crowded({{0, 1, 2}, {0, 1, 2}, {1, 2, 2}}));
}

TEST(Crowd, WhatIsNotKnown) {
  EXPECT_TRUE(crowded({{0, 1, 2}, {}}));
  EXPECT_FALSE(crowded({}));
}

TEST(Crowd, ThisThreadHasACoreForItself) {
  EXPECT_GE(own_cpu_span().count, 1);
  const CpuSpan own = own_cpu_span();
  EXPECT_FALSE(crowded({own}));
}

}  // namespace
}  // namespace stretto
