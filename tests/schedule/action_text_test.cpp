// SPDX-License-Identifier: Apache-2.0
#include "schedule/action_text.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace stretto {
namespace {

TEST(ActionText, NamesBuffersAndBlocks) {
  EXPECT_EQ(to_string(input(3)), "in3");
  EXPECT_EQ(to_string(output(4, 4)), "b4-7");
  EXPECT_EQ(to_string(scratch(0)), "s0");
}

TEST(ActionText, SpellsEveryKind) {
  Schedule schedule(8, 0, 4);
  schedule.send(output(1), 3).recv(output(0, 2), 5).copy(output(1), input(1));
  schedule.recv_reduce(output(1), input(1), 5, Side::right).recv_reduce(output(1), input(1), 5, Side::left);
  schedule.reduce(output(1), input(1), scratch(0)).end_round();
  std::vector<std::string> texts;
  for (const Action& action : schedule.actions()) texts.push_back(to_string(action));
  EXPECT_EQ(texts,
            (std::vector<std::string>{"send b1→3", "recv b0-1←5", "copy b1=in1", "recv_reduce b1=in1+recv←5",
                                      "recv_reduce b1=recv+in1←5", "reduce b1=in1+s0"}));
}

}  // namespace
}  // namespace stretto
