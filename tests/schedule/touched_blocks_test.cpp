// SPDX-License-Identifier: Apache-2.0
#include "schedule/touched_blocks.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace {

using namespace stretto;
using Blocks = std::vector<int>;

TEST(TouchedBlocks, NamesWhatIsReadBeforeWhichRound) {
  Schedule schedule(3, 0, 4);
  schedule.send(input(2), 1).recv_reduce(output(1), input(1), 2, Side::left).end_round();
  schedule.send(output(1), 1).recv(output(2), 2).end_round();
  schedule.copy(output(0), input(0)).end_round();
  const TouchedBlocks found = TouchedBlocks::find(schedule, false, 100);
  ASSERT_EQ(found.reads.size(), 2U);
  EXPECT_EQ(found.reads[0].round, 0);
  EXPECT_EQ(found.reads[0].blocks, Blocks({1, 2}));
  EXPECT_EQ(found.reads[1].round, 2);
  EXPECT_EQ(found.reads[1].blocks, Blocks({0}));
  ASSERT_EQ(found.writes.size(), 3U);
  EXPECT_EQ(found.writes[2].round, 2);
  EXPECT_EQ(found.writes[2].blocks, Blocks({0}));
}

TEST(TouchedBlocks, OnePartIsThereForItsFirstRoundAndReadyAfterItsLast) {
  Schedule schedule(2, 0, 2);
  schedule.copy(output(1), input(1)).end_round();
  schedule.copy(output(0), input(0)).end_round();
  const TouchedBlocks found = TouchedBlocks::find(schedule, false, 1);
  ASSERT_EQ(found.reads.size(), 1U);
  EXPECT_EQ(found.reads[0].round, 0);
  EXPECT_EQ(found.reads[0].blocks, Blocks({0, 1}));
  ASSERT_EQ(found.writes.size(), 1U);
  EXPECT_EQ(found.writes[0].round, 1);
}

TEST(TouchedBlocks, InPlaceWhatTheRankHasWrittenIsNotRead) {
  Schedule schedule(3, 0, 2);
  schedule.recv(output(0), 1).end_round();
  schedule.send(output(0), 2).send(output(1), 2).end_round();
  const TouchedBlocks in_place = TouchedBlocks::find(schedule, true, 1);
  ASSERT_EQ(in_place.reads.size(), 1U);
  EXPECT_EQ(in_place.reads[0].blocks, Blocks({1}));
  EXPECT_TRUE(TouchedBlocks::find(schedule, false, 1).reads.empty());
}

TEST(TouchedBlocks, FollowsStridesAndIgnoresScratch) {
  Schedule schedule(2, 0, 6);
  schedule.add_scratch(0);
  schedule.send(scratch(0), 1).copy(output(0, 3), strided(input(1), 3, 1, 2)).end_round();
  const TouchedBlocks found = TouchedBlocks::find(schedule, false, 1);
  ASSERT_EQ(found.reads.size(), 1U);
  EXPECT_EQ(found.reads[0].blocks, Blocks({1, 3, 5}));
  EXPECT_EQ(found.writes[0].blocks, Blocks({0, 1, 2}));
}

}  // namespace
