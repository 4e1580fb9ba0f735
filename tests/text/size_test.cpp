// SPDX-License-Identifier: Apache-2.0
#include "text/size.hpp"

#include <gtest/gtest.h>

#include <random>

namespace stretto {
namespace {

TEST(Size, ReadsNumbersWithAndWithoutUnit) {
  EXPECT_EQ(parse_size("0"), 0U);
  EXPECT_EQ(parse_size("4096"), 4096U);
  EXPECT_EQ(parse_size("64KiB"), 65536U);
  EXPECT_EQ(parse_size("3MiB"), 3U << 20);
  EXPECT_EQ(parse_size("17179869183GiB"), 17179869183ULL << 30);
}

TEST(Size, WhatIsNoneIsEmpty) {
  for (const char* text : {"", "KiB", "-1", "+1", "1.5MiB", "1 KiB", "1kib", "1KB", "1KiBKiB", "0x10", " 1",
                           "18446744073709551616", "17179869184GiB"}) {
    EXPECT_FALSE(parse_size(text).has_value()) << text;
  }
  EXPECT_FALSE(parse_whole("1KiB").has_value());
}

TEST(Size, TheTextOfASizeIsTheSizeOfTheText) {
  EXPECT_EQ(size_text(0), "0");
  EXPECT_EQ(size_text(1536), "1536");
  EXPECT_EQ(size_text(1 << 20), "1MiB");
  std::mt19937_64 random(7);
  for (int i = 0; i < 10000; ++i) {
    const std::uint64_t bytes = random() >> (random() % 64) << (random() % 20);
    EXPECT_EQ(parse_size(size_text(bytes)), bytes);
  }
}

}  // namespace
}  // namespace stretto
