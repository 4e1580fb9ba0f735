// SPDX-License-Identifier: Apache-2.0
#include "schedule/partition.hpp"

#include <gtest/gtest.h>

#include <random>

namespace stretto {
namespace {

TEST(Partition, CoversEveryElementOnceInOrder) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 10000; ++i) {
    const std::size_t elements = random() % (i % 2 == 0 ? 50 : 1'000'000'000'000);
    const std::size_t parts = 1 + random() % 40;
    const Partition partition(elements, parts);
    std::size_t next = 0;
    for (std::size_t part = 0; part < parts; ++part) {
      const Range range = partition.run(part);
      ASSERT_EQ(range.first, next);
      ASSERT_LE(range.count, partition.longest());
      ASSERT_GE(range.count + 1, partition.longest());
      next += range.count;
    }
    ASSERT_EQ(next, elements);
  }
}

TEST(Partition, ARunOfPartsIsTheirUnion) {
  const Partition partition(17, 5);
  EXPECT_EQ(partition.run(1, 3), (Range{4, 10}));
  EXPECT_EQ(partition.run(0, 5), (Range{0, 17}));
  EXPECT_EQ(partition.run(5, 0), (Range{17, 0}));
}

TEST(Partition, FewerElementsThanPartsLeaveTheLastOnesEmpty) {
  const Partition partition(2, 4);
  EXPECT_EQ(partition.run(1), (Range{1, 1}));
  EXPECT_EQ(partition.run(3), (Range{2, 0}));
}

}  // namespace
}  // namespace stretto
