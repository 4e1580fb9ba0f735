// SPDX-License-Identifier: Apache-2.0
#include "schedule/schedule.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

namespace stretto {
namespace {

TEST(Schedule, GroupsActionsIntoRounds) {
  Schedule schedule(3, 1, 4);
  schedule.send(input(2), 0).recv(output(1, 2), 2).end_round();
  schedule.end_round();  // an empty round leaves no trace
  schedule.copy(output(0), input(0)).end_round();
  ASSERT_EQ(schedule.rounds(), 2);
  ASSERT_EQ(schedule.round(0).size(), 2U);
  EXPECT_EQ(schedule.round(0)[1].into, output(1, 2));
  EXPECT_EQ(schedule.round(1)[0].kind, Kind::copy);
}

TEST(Schedule, KnowsWhatAnExecutorMustSetAside) {
  Schedule schedule(3, 1, 4);
  schedule.recv_reduce(output(0, 2), input(0, 2), 0, Side::left);
  schedule.recv_reduce(output(3), input(3), 2, Side::right).end_round();
  schedule.send(input(0), 0).end_round();
  EXPECT_EQ(schedule.widest_round(), 2);
  EXPECT_EQ(schedule.most_landing_blocks(), 3);
}

TEST(Schedule, ARecvReduceNamesTheOperandThatIsHere) {
  Schedule schedule(2, 0, 1);
  schedule.recv_reduce(output(0), input(0), 1, Side::right).end_round();
  const Action& action = schedule.round(0)[0];
  EXPECT_EQ(action.with(), input(0));
  EXPECT_EQ(action.left, input(0));
  EXPECT_EQ(action.right.count, 0);
}

TEST(Schedule, CopyingABlockToItselfIsNothing) {
  Schedule schedule(1, 0, 2);
  schedule.copy(output(1), output(1)).end_round();
  EXPECT_EQ(schedule.rounds(), 0);
}

TEST(Schedule, ScratchIsShapedLikeBlocks) {
  Schedule schedule(1, 0, 4);
  EXPECT_EQ(schedule.add_scratch(3), 0);
  EXPECT_EQ(schedule.add_scratch(1, 2), 1);
  EXPECT_EQ(schedule.scratch_shape().all(), (std::vector<int>{3, 1, 2}));
}

TEST(Schedule, RegularScratchTakesNoMemory) {
  Schedule schedule(1, 0, 1 << 20);
  std::vector<int> shapes;
  const auto add = [&](int first, int count) {
    for (int i = 0; i < count; ++i) shapes.push_back(first + i);
    return schedule.add_scratch(first, count);
  };
  const std::size_t none = schedule.memory_bytes();
  EXPECT_EQ(add(7, 1), 0);
  EXPECT_EQ(add(5, 1), 1);
  EXPECT_EQ(add(3, 2), 2);
  EXPECT_EQ(add(0, 1 << 18), 4);
  EXPECT_EQ(add(9, 3), 4 + (1 << 18));
  EXPECT_EQ(add(4, 0), 7 + (1 << 18));
  EXPECT_LT(schedule.memory_bytes(), none + 100);
  const ScratchShape& shape = schedule.scratch_shape();
  EXPECT_EQ(shape.all(), shapes);
  for (std::size_t block = 0; block < shapes.size(); ++block) ASSERT_EQ(shape[block], shapes[block]);
}

TEST(Append, PartsBecomeRanksAndBlocksOfTheWhole) {
  // Rank 1 of 2 in the part, which is rank 5 of the whole; block 0 stands for blocks 2 and 3, block 1 for 4.
  Schedule part(2, 1, 2);
  part.recv_reduce(output(0), input(0), 0, Side::left).end_round();
  part.send(output(0, 2), 0).end_round();
  Schedule whole(6, 5, 6);
  whole.append(part, {.ranks = std::vector{3, 5}, .borders = std::vector{2, 4, 5}});
  ASSERT_EQ(whole.rounds(), 2);
  const Action& reduction = whole.round(0)[0];
  EXPECT_EQ(reduction.peer, 3);
  EXPECT_EQ(reduction.arriving, Side::left);
  EXPECT_EQ(reduction.into, output(2, 2));
  EXPECT_EQ(reduction.with(), input(2, 2));
  EXPECT_EQ(reduction.left.count, 0);
  EXPECT_EQ(whole.round(1)[0].left, output(2, 3));
  EXPECT_EQ(whole.most_landing_blocks(), 2);
}

TEST(Append, InputMayBeTheOutputOrScratch) {
  Schedule part(1, 0, 2);
  part.copy(output(1), input(1)).end_round();
  {
    Schedule whole(1, 0, 2);
    whole.append(part, {.ranks = std::vector{0}, .input = Buffer::output});
    EXPECT_EQ(whole.rounds(), 0) << "the copy has nothing left to do";
  }
  {
    Schedule whole(1, 0, 4);
    whole.add_scratch(0, 1);
    const int at = whole.add_scratch(2, 2);
    whole.append(part, {.ranks = std::vector{0},
                        .input = Buffer::scratch,
                        .input_scratch = at,
                        .borders = std::vector{2, 3, 4}});
    EXPECT_EQ(whole.round(0)[0].left, scratch(2));
    EXPECT_EQ(whole.round(0)[0].into, output(3));
  }
}

TEST(Append, ScratchOfThePartIsAddedBehindThatOfTheWhole) {
  Schedule part(1, 0, 2);
  part.add_scratch(1);
  part.add_scratch(0);
  part.copy(scratch(1), input(0)).copy(scratch(0), input(1)).end_round();
  Schedule whole(1, 0, 5);
  whole.add_scratch(4);
  whole.append(part, {.ranks = std::vector{0}, .borders = std::vector{0, 3, 5}});
  EXPECT_EQ(whole.scratch_shape().all(), (std::vector<int>{4, 3, 4, 0, 1, 2}));
  EXPECT_EQ(whole.round(0)[0].into, scratch(3, 3));
  EXPECT_EQ(whole.round(0)[0].left, input(0, 3));
  EXPECT_EQ(whole.round(0)[1].into, scratch(1, 2));
}

TEST(Append, WhatMovesNoBlocksIsLeftOut) {
  Schedule part(2, 0, 2);
  part.send(input(0), 1).end_round();
  part.send(input(1), 1).end_round();
  Schedule whole(2, 0, 3);
  whole.append(part, {.ranks = std::vector{0, 1}, .borders = std::vector{1, 1, 3}});
  ASSERT_EQ(whole.rounds(), 1);
  EXPECT_EQ(whole.round(0)[0].left, input(1, 2));
}

TEST(Append, EndsTheRoundThatIsOpen) {
  Schedule part(2, 0, 1);
  part.send(input(0), 1).end_round();
  Schedule whole(2, 0, 1);
  whole.recv(output(0), 1).append(part, {.ranks = std::vector{0, 1}});
  EXPECT_EQ(whole.rounds(), 2);
}

TEST(Schedule, TheWayBackOfTheWayBackIsTheWay) {
  Schedule schedule(4, 1, 4);
  const int held = schedule.add_scratch(1, 2);
  schedule.copy(scratch(held), input(1)).recv(scratch(held + 1), 2).end_round();
  schedule.send(scratch(held, 2), 0).end_round();

  const Schedule back = schedule.reversed();
  ASSERT_EQ(back.rounds(), 2);
  ASSERT_EQ(back.round(0).size(), 1U);
  EXPECT_EQ(back.round(0)[0].kind, Kind::recv);
  EXPECT_EQ(back.round(0)[0].into, scratch(held, 2));
  EXPECT_EQ(back.round(1)[0].kind, Kind::copy);
  EXPECT_EQ(back.round(1)[0].into, output(1));
  EXPECT_EQ(back.round(1)[0].left, scratch(held));
  EXPECT_EQ(back.round(1)[1].kind, Kind::send);
  EXPECT_EQ(back.round(1)[1].peer, 2);

  const Schedule again = back.reversed();
  ASSERT_EQ(again.rounds(), schedule.rounds());
  for (int round = 0; round < again.rounds(); ++round) {
    const auto one = schedule.round(round);
    const auto other = again.round(round);
    ASSERT_EQ(one.size(), other.size());
    for (std::size_t i = 0; i < one.size(); ++i) {
      EXPECT_EQ(one[i].kind, other[i].kind);
      EXPECT_EQ(one[i].peer, other[i].peer);
      EXPECT_EQ(one[i].into, other[i].into);
      EXPECT_EQ(one[i].left, other[i].left);
    }
  }
}

TEST(Schedule, WhatReducesHasNoWayBack) {
  Schedule schedule(2, 0, 1);
  schedule.recv_reduce(output(0), input(0), 1, Side::right).end_round();
  EXPECT_THROW(static_cast<void>(schedule.reversed()), std::logic_error);
}

}  // namespace
}  // namespace stretto
