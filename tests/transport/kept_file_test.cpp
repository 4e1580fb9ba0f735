// SPDX-License-Identifier: Apache-2.0
#include "transport/kept_file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>

namespace stretto {
namespace {

bool is_open(int file) {
  return fcntl(file, F_GETFD) >= 0;
}

TEST(KeptFile, IsClosedOnce) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  {
    KeptFile file(ends[0]);
    EXPECT_EQ(file.number(), ends[0]);
    const KeptFile moved = std::move(file);
    EXPECT_EQ(moved.number(), ends[0]);
    EXPECT_TRUE(is_open(ends[0]));
  }
  EXPECT_FALSE(is_open(ends[0]));
  EXPECT_EQ(KeptFile(-1).number(), -1);
  EXPECT_EQ(KeptFile().number(), -1);
  close(ends[1]);
}

TEST(KeptFile, AnotherFileWithItsNumberIsLeftAlone) {
  const int number = socket(AF_INET, SOCK_DGRAM, 0);
  ASSERT_GE(number, 0);
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  {
    const KeptFile file(number);
    EXPECT_EQ(file.number(), number);
    ASSERT_EQ(dup2(ends[0], number), number);
    EXPECT_EQ(file.number(), -1);
  }
  EXPECT_TRUE(is_open(number));
  {
    const KeptFile file(number);
    close(number);
    EXPECT_EQ(file.number(), -1);
  }
  close(ends[0]);
  close(ends[1]);
}

}  // namespace
}  // namespace stretto
