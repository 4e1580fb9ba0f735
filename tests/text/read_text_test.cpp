// SPDX-License-Identifier: Apache-2.0
#include "text/read_text.hpp"

#include <gtest/gtest.h>

#include <sstream>

namespace stretto {
namespace {

TEST(ReadText, ReadsAllUpToTheMost) {
  for (const std::size_t size : {0, 1, 16383, 16384, 16385, 32768, 100000, 1000000}) {
    std::string all;
    for (std::size_t i = 0; i < size; ++i) all += static_cast<char>('a' + i % 26);
    for (const std::size_t most :
         {std::size_t{1}, std::size_t{16384}, size, size + 1, std::size_t{1} << 20}) {
      std::istringstream stream(all);
      EXPECT_EQ(read_text(stream, most), all.substr(0, most)) << size << " bytes, at most " << most;
    }
  }
}

}  // namespace
}  // namespace stretto
