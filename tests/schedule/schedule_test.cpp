// SPDX-License-Identifier: Apache-2.0
#include "schedule/schedule.hpp"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace stretto
