// SPDX-License-Identifier: Apache-2.0
#include "transport/trial.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "transport/region.hpp"

namespace stretto {
namespace {

TEST(Trial, TwoProcessesPassMessages) {
  EXPECT_EQ(try_node_memory(2, RegionShape::usual_store_bytes(2)), "");
  EXPECT_EQ(try_node_memory(128, std::size_t{64} << 10), "");
}

/// Neither process has the room, or files. That is the reported reason, not that the other process has ended.
TEST(Trial, SaysWhatFailed) {
  rlimit usual{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &usual), 0);
  rlimit less = usual;
  less.rlim_cur = 4096;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &less), 0);
  const std::string no_room = try_node_memory(2, std::size_t{1} << 20);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &usual), 0);
  EXPECT_TRUE(no_room.starts_with("no room for ")) << no_room;
  EXPECT_TRUE(no_room.ends_with("ulimit -f")) << no_room;
}

}  // namespace
}  // namespace stretto
