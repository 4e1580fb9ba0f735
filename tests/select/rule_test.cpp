// SPDX-License-Identifier: Apache-2.0
#include "select/rule.hpp"

#include <gtest/gtest.h>

namespace stretto {
namespace {

TEST(Rule, ASmallCallIsNativeWhateverItsShape) {
  for (const Collective collective : collectives) {
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{8}, native_floor(collective) - 1}) {
      for (const int ranks : {1, 2, 7, 64, 1000}) {
        for (const int ppn : {1, 2, ranks}) {
          const CallShape shape{.collective = collective,
                                .bytes = bytes,
                                .ranks = ranks,
                                .nodes = (ranks + ppn - 1) / ppn,
                                .min_ppn = ppn,
                                .max_ppn = ppn};
          EXPECT_TRUE(choose(shape).is_pass_through()) << name_of(collective);
        }
      }
    }
  }
}

TEST(Rule, WhatDoesNotCommuteKeepsOrder) {
  for (const Collective collective : collectives) {
    for (std::size_t bytes = 1; bytes < (std::size_t{1} << 33); bytes *= 4) {
      for (const int nodes : {1, 2, 3, 8, 9, 100}) {
        const Spec spec = choose(
            {.collective = collective, .bytes = bytes, .ranks = nodes, .nodes = nodes, .commutative = false});
        EXPECT_TRUE(spec.is_native() || keeps_order(spec.recipe, Topology::flat(nodes)));
      }
    }
  }
}

TEST(Rule, ALargeCallAcrossNodesIsPipelined) {
  for (const Collective collective : collectives) {
    for (const int ppn : {1, 2}) {
      const Spec spec = choose({.collective = collective,
                                .bytes = std::size_t{16} << 20,
                                .ranks = 7 * ppn,
                                .nodes = 7,
                                .min_ppn = ppn,
                                .max_ppn = ppn});
      ASSERT_FALSE(spec.is_native()) << name_of(collective);
      EXPECT_GT(spec.pipelining.count(4 << 20, 4), 1U);
    }
  }
}

TEST(Rule, WhatIsReproducibleHasTheFixedTreeAndKeepsOrder) {
  for (const Collective collective :
       {Collective::allreduce, Collective::reduce, Collective::reduce_scatter}) {
    for (std::size_t bytes = 1; bytes < (std::size_t{1} << 33); bytes *= 4) {
      for (const int ranks : {2, 3, 8, 9, 100}) {
        const Spec spec = choose_reproducible({.collective = collective, .bytes = bytes, .ranks = ranks});
        ASSERT_FALSE(spec.is_native());
        EXPECT_TRUE(has_fixed_tree(spec.recipe, Topology::flat(ranks)));
        EXPECT_TRUE(keeps_order(spec.recipe, Topology::flat(ranks)));
      }
    }
  }
}

}  // namespace
}  // namespace stretto
