// SPDX-License-Identifier: Apache-2.0
#include "text/known_names.hpp"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

namespace stretto {
namespace {

const std::vector<std::string_view> names{"ring", "swing", "rabenseifner", "recursive_doubling"};

TEST(KnownNames, TheDistanceCountsLetters) {
  EXPECT_EQ(edit_distance("ring", "ring"), 0U);
  EXPECT_EQ(edit_distance("rnig", "ring"), 1U);  // swapped
  EXPECT_EQ(edit_distance("rin", "ring"), 1U);
  EXPECT_EQ(edit_distance("rings", "ring"), 1U);
  EXPECT_EQ(edit_distance("", "ring"), 4U);
  EXPECT_EQ(edit_distance("ca", "abc"), 3U);  // no letters between swapped ones
}

TEST(KnownNames, TheNearestIsNamed) {
  EXPECT_EQ(known_names_text("rnig", names), " (did you mean ring?)");
  EXPECT_EQ(known_names_text("raben", names), " (did you mean rabenseifner?)");
  EXPECT_EQ(known_names_text("recursive_doublin", names), " (did you mean recursive_doubling?)");
}

TEST(KnownNames, AllAreNamedIfNoneOrSeveralAreNear) {
  const std::string_view all = "; there are ring, swing, rabenseifner, recursive_doubling";
  EXPECT_EQ(known_names_text("", names), all);
  EXPECT_EQ(known_names_text("tree", names), all);
  EXPECT_EQ(known_names_text("x", names), all);
  EXPECT_EQ(known_names_text("wing", names), all);  // one letter from ring and from swing
  EXPECT_EQ(known_names_text("tree", std::vector<std::string_view>{}), "; there are ");
}

}  // namespace
}  // namespace stretto
