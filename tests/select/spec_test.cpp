// SPDX-License-Identifier: Apache-2.0
#include "select/spec.hpp"

#include <gtest/gtest.h>

#include <random>

namespace stretto {
namespace {

Spec parse(std::string_view text) {
  return parse_spec(Collective::allreduce, text);
}

std::string error_of(std::string_view text) {
  try {
    parse(text);
  } catch (const SpecError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Spec, ReadsWhatTheDesignNames) {
  EXPECT_TRUE(parse("native").is_pass_through());
  EXPECT_TRUE(parse("native:segments=1").is_native());
  EXPECT_FALSE(parse("native:segments=1").is_pass_through());
  EXPECT_EQ(parse("ring").algorithm->name, "ring");
  EXPECT_EQ(parse("ring:segments=16:window=8").pipelining, (Pipelining{.segments = 16, .window = 8}));
  EXPECT_EQ(parse("native:segment_bytes=256KiB").pipelining.segment_bytes, 262144U);
  EXPECT_EQ(parse("ring:segment_bytes=1000").pipelining.segment_bytes, 1000U);
}

TEST(Spec, EverySpellingComesBack) {
  std::mt19937 random(1);
  for (int i = 0; i < 2000; ++i) {
    Spec spec;
    if (random() % 8 != 0) spec.algorithm = &algorithms()[random() % algorithms().size()];
    const auto kind = random() % 3;
    if (kind == 1) spec.pipelining.segments = static_cast<int>(1 + random() % 32768);
    if (kind == 2) spec.pipelining.segment_bytes = std::size_t{1 + random() % 1024} << (random() % 20);
    if (random() % 2 != 0) spec.pipelining.window = static_cast<int>(1 + random() % 64);
    EXPECT_EQ(parse(to_string(spec)), spec) << to_string(spec);
  }
}

TEST(Spec, SaysWhatIsWrongAndWhatWouldBeRight) {
  EXPECT_EQ(
      error_of("rnig"),
      "spec \"rnig\": there is no allreduce algorithm \"rnig\"; there are native, ring, recursive_doubling, "
      "rabenseifner, linear, binomial");
  EXPECT_EQ(error_of("ring:segments=x"),
            "spec \"ring:segments=x\": segments must be a whole number from 1 to 32768, not \"x\"");
  EXPECT_EQ(
      error_of("ring:colour=red"),
      "spec \"ring:colour=red\": there is no setting \"colour\"; there are segments, segment_bytes, window");
}

TEST(Spec, RefusesWhatCannotBeMeant) {
  for (const char* text :
       {"", ":", "ring:", "ring:segments", "ring:segments=", "ring:segments=0", "ring:segments=-1",
        "ring:segments=4x", "ring:segments=99999999999999999999", "ring:segments=4KiB",
        "ring:segment_bytes=4XiB", "ring:segment_bytes=99999GiB", "ring:segment_bytes=2GiB",
        "ring:segments=2:segment_bytes=4", "ring::segments=2", "RING", "ring segments=2"}) {
    EXPECT_NE(error_of(text), "no error") << text;
  }
}

TEST(Pipelining, CutsAsAskedButNeverBeyondMpisCounts) {
  EXPECT_EQ(Pipelining{}.count(1000, 4), 1U);
  EXPECT_EQ((Pipelining{.segments = 8}).count(1000, 4), 8U);
  EXPECT_EQ((Pipelining{.segments = 8}).count(3, 4), 3U);
  EXPECT_EQ((Pipelining{.segments = 8}).count(0, 4), 1U);
  EXPECT_EQ((Pipelining{.segment_bytes = 1000}).count(1001, 1), 2U);
  EXPECT_EQ((Pipelining{.segment_bytes = 1000}).count(1000, 1), 1U);
  EXPECT_EQ(Pipelining{}.count((std::size_t{1} << 31) + 5, 1), 3U);
}

}  // namespace
}  // namespace stretto
