// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/dispatch.hpp"

namespace stretto::kernels {
namespace {

/// Copies all lengths to all places near a line's border, and looks for bytes beyond the ends.
void expect_copies(Copy copy) {
  constexpr std::size_t margin = 128;
  for (const std::size_t bytes : {0, 1, 3, 15, 16, 63, 64, 65, 127, 255, 256, 257, 600, 4096, 10007}) {
    for (const std::size_t into : {0, 1, 8, 16, 31, 60}) {
      for (const std::size_t from : {0, 4, 33}) {
        std::vector<std::uint8_t> source(bytes + from);
        for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<std::uint8_t>(i * 7 + 1);
        std::vector<std::uint8_t> target(bytes + into + margin, 0xA5);
        std::vector<std::uint8_t> expected = target;
        for (std::size_t i = 0; i < bytes; ++i) expected[into + i] = source[from + i];
        copy(target.data() + into, source.data() + from, bytes);
        ASSERT_EQ(target, expected) << bytes << " bytes to " << into << " from " << from;
      }
    }
  }
}

TEST(Copy, OfEveryTarget) {
  for (const Target* target : targets()) {
    if (!target->supported()) continue;
    SCOPED_TRACE(target->name);
    expect_copies(target->copy);
    expect_copies(target->streaming_copy);
  }
}

}  // namespace
}  // namespace stretto::kernels
