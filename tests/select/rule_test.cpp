// SPDX-License-Identifier: Apache-2.0
#include "select/rule.hpp"

#include <gtest/gtest.h>

namespace stretto {
namespace {

TEST(Rule, ASmallCallIsNativeWhateverItsShape) {
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{8}, allreduce_native_floor() - 1}) {
    for (const int ranks : {1, 2, 7, 64, 1000}) {
      for (const int ppn : {1, 2, ranks}) {
        const int nodes = (ranks + ppn - 1) / ppn;
        const CallShape shape{.bytes = bytes, .ranks = ranks, .nodes = nodes, .max_ppn = ppn};
        EXPECT_TRUE(choose_allreduce(shape).is_pass_through());
      }
    }
  }
}

TEST(Rule, WhatDoesNotCommuteKeepsOrder) {
  for (std::size_t bytes = 1; bytes < (std::size_t{1} << 33); bytes *= 4) {
    for (const int nodes : {1, 2, 3, 8, 9, 100}) {
      const CallShape shape{.bytes = bytes, .ranks = nodes, .nodes = nodes, .commutative = false};
      const Spec spec = choose_allreduce(shape);
      EXPECT_TRUE(spec.is_native() || spec.algorithm->keeps_order(Topology::flat(nodes)));
    }
  }
}

TEST(Rule, ALargeCallAcrossNodesIsPipelined) {
  const Spec spec = choose_allreduce({.bytes = std::size_t{16} << 20, .ranks = 7, .nodes = 7});
  ASSERT_FALSE(spec.is_native());
  EXPECT_GT(spec.pipelining.count(4 << 20, 4), 1U);
}

}  // namespace
}  // namespace stretto
