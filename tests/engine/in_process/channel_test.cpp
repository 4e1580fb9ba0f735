// SPDX-License-Identifier: Apache-2.0
// How the tags of a library are divided among channels.
#include "engine/messages/channel.hpp"

#include <gtest/gtest.h>

namespace stretto::test {
namespace {

constexpr int plenty = 2147483647;
constexpr int of_ucx = 8388607;  // Open MPI over UCX

TEST(ChannelPool, GivesFewerTagsToMoreRanks) {
  EXPECT_EQ(ChannelPool::tags_for(plenty, 4096), 256);
  EXPECT_EQ(ChannelPool::tags_for(plenty, 1 << 20), 32);
  EXPECT_EQ(ChannelPool::tags_for(32767, 2), 16);
}

TEST(ChannelPool, HasMoreChannelsThanOpenMpiHasCommunicators) {
  EXPECT_GE(of_ucx / ChannelPool::tags_for(of_ucx, 2), 65536);
}

TEST(ChannelPool, HasSomeForEachRank) {
  EXPECT_GE(of_ucx / ChannelPool::tags_for(of_ucx, 4096) / 4096, 63);
}

}  // namespace
}  // namespace stretto::test
