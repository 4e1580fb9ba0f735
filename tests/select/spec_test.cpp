// SPDX-License-Identifier: Apache-2.0
#include "select/spec.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <utility>
#include <vector>

namespace stretto {
namespace {

Spec parse(std::string_view text) {
  return parse_spec(Collective::allreduce, text);
}

std::string error_of(std::string_view text, Collective collective = Collective::allreduce) {
  try {
    parse_spec(collective, text);
  } catch (const SpecError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Spec, ReadsWhatTheDesignNames) {
  EXPECT_TRUE(parse("native").is_pass_through());
  EXPECT_TRUE(parse("native:segments=1").is_native());
  EXPECT_FALSE(parse("native:segments=1").is_pass_through());
  EXPECT_EQ(parse("ring").recipe.algorithm->name, "ring");
  EXPECT_EQ(parse("ring:segments=16:window=8").pipelining, (Pipelining{.segments = 16, .window = 8}));
  EXPECT_EQ(parse("native:segment_bytes=256KiB").pipelining.segment_bytes, 262144U);
  EXPECT_EQ(parse("ring:segment_bytes=1000").pipelining.segment_bytes, 1000U);
}

TEST(Spec, ReadsParametersAndParts) {
  const Spec knomial = parse_spec(Collective::bcast, "knomial:radix=3:segments=4");
  EXPECT_EQ(knomial.recipe.radix, 3);
  EXPECT_EQ(knomial.pipelining.segments, 4);
  EXPECT_EQ(parse("smp(ring):window=2").recipe.parts, (std::vector{parse("ring").recipe}));
  EXPECT_EQ(to_string(parse("reduce_broadcast(knomial:radix=3,chain)")),
            "reduce_broadcast(knomial:radix=3,chain)");
}

TEST(Spec, ReadsLinks) {
  const Spec spec = parse("weighted:links=100x2+50+100:segments=4");
  EXPECT_EQ(spec.recipe.links, (std::vector{100, 100, 50, 100}));
  EXPECT_EQ(spec.pipelining.segments, 4);
  EXPECT_EQ(to_string(spec), "weighted:links=100x2+50+100:segments=4");
  EXPECT_EQ(to_string(parse("weighted:links=7+100+100+100")), "weighted:links=7+100x3");
  EXPECT_EQ(parse("multilane(weighted:links=50+100)").recipe.parts[0].links, (std::vector{50, 100}));
}

TEST(Spec, ReadsTheLateRank) {
  EXPECT_EQ(parse("pre_reduced_ring:late=7").recipe.late, 7);
  EXPECT_EQ(to_string(parse("multilane(pre_reduced_ring:late=2)")), "multilane(pre_reduced_ring:late=2)");
  EXPECT_NE(error_of("ring:late=1").find("ring takes no late rank"), std::string::npos);
  for (const char* text : {"", "-1", "1.5", "16777216", "x"}) {
    const std::string error = error_of("pre_reduced_ring:late=" + std::string(text));
    EXPECT_NE(error.find("late must be a whole number from 0 to 16777215"), std::string::npos) << error;
  }
}

TEST(Spec, SaysWhatIsWrongWithLinks) {
  const std::string percent = "a link's percent must be a whole number from 1 to 100, not ";
  for (const auto& [text, reason] : std::vector<std::pair<std::string, std::string>>{
           {"ring:links=100", "ring takes no links"},
           {"weighted:links=", percent + "\"\""},
           {"weighted:links=100+", percent + "\"\""},
           {"weighted:links=100+0", percent + "\"0\""},
           {"weighted:links=100+-5", percent + "\"-5\""},
           {"weighted:links=100+nan", percent + "\"nan\""},
           {"weighted:links=100+1e9", percent + "\"1e9\""},
           {"weighted:links=101", percent + "\"101\""},
           {"weighted:links=100x0", "a number of links must be a whole number from 1 to 65536"},
           {"weighted:links=100x99999999999", "a number of links must be a whole number from 1 to 65536"},
           {"weighted:links=100x65536+100", "there are too many links"},
           {"weighted:links=50x8", "at least one link must have 100 percent"},
       }) {
    EXPECT_NE(error_of(text).find(reason), std::string::npos) << text << ": " << error_of(text);
  }
}

TEST(Spec, WhatIsNotSaidIsAsUsual) {
  for (const Algorithm& algorithm : algorithms()) {
    EXPECT_EQ(parse_spec(algorithm.collective, algorithm.name).recipe, usual_recipe(algorithm));
  }
  const Spec one_part = parse("reduce_broadcast(chain)");
  ASSERT_EQ(one_part.recipe.parts.size(), 2U);
  EXPECT_EQ(one_part.recipe.parts[0].algorithm->name, "chain");
  EXPECT_EQ(one_part.recipe.parts[1], parse("reduce_broadcast").recipe.parts[1]);
}

Recipe random_recipe(Collective collective, std::mt19937& random, int depth) {
  std::vector<const Algorithm*> choices;
  for (const Algorithm& algorithm : algorithms()) {
    if (algorithm.collective == collective && (depth > 0 || algorithm.part_count() == 0)) {
      choices.push_back(&algorithm);
    }
  }
  const Algorithm& algorithm = *choices[random() % choices.size()];
  Recipe recipe = usual_recipe(algorithm);
  if (algorithm.usual_radix != 0) recipe.radix = static_cast<int>(2 + random() % 1023);
  if (algorithm.takes_late) recipe.late = static_cast<int>(random() % 1000);
  for (std::size_t i = 0; i < recipe.parts.size(); ++i) {
    recipe.parts[i] = random_recipe(algorithm.parts.at(i).collective, random, depth - 1);
  }
  return recipe;
}

TEST(Spec, EverySpellingComesBack) {
  std::mt19937 random(1);
  for (int i = 0; i < 4000; ++i) {
    const Collective collective = collectives.at(random() % collectives.size());
    Spec spec;
    if (random() % 8 != 0) spec.recipe = random_recipe(collective, random, 3);
    const auto kind = random() % 3;
    if (kind == 1) spec.pipelining.segments = static_cast<int>(1 + random() % 32768);
    if (kind == 2) spec.pipelining.segment_bytes = std::size_t{1 + random() % 1024} << (random() % 20);
    if (random() % 2 != 0 && !spec.is_native()) spec.pipelining.window = static_cast<int>(1 + random() % 64);
    EXPECT_EQ(parse_spec(collective, to_string(spec)), spec) << to_string(spec);
  }
}

std::string names_of(Collective collective) {
  std::string names;
  for (const Algorithm& algorithm : algorithms()) {
    if (algorithm.collective != collective) continue;
    names += (names.empty() ? "" : ", ") + std::string(algorithm.name);
  }
  return names;
}

TEST(Spec, SaysWhatIsWrongAndWhatWouldBeRight) {
  const std::string names = names_of(Collective::allreduce);
  const std::vector<std::pair<std::string, std::string>> expected{
      {"rnig", "there is no allreduce algorithm \"rnig\" (did you mean ring?)"},
      {"tree", "there is no allreduce algorithm \"tree\"; there are native, " + names},
      {"ring:segments=x", "segments must be a whole number from 1 to 32768, not \"x\""},
      {"native:segments=4:window=2", "native takes no window: all of its segments run at once"},
      {"ring:colour=red", "there is no setting \"colour\"; there are segments, segment_bytes, window"},
      {"knomial:radix=0", "radix must be a whole number from 2 to 1024, not \"0\""},
      {"knomial:segments=2:radix=3", "knomial:radix=4 takes no radix here"},
      {"ring:radix=2", "ring takes no radix"},
      {"smp(", "there is no allreduce algorithm \"\"; there are " + names},
      {"smp(smp(smp(smp(smp(smp(smp(smp(smp(ring)))))))))", "algorithms may be nested at most 8 deep"},
      {"smp(ring", "expected ) before \"\""},
      {"smp(ring:segments=2)", "expected ) before \":segments=2)\""},
      {"smp(native)", "there is no allreduce algorithm \"native\"; there are " + names},
      {"smp(ring,ring)", "smp takes 1 part"},
      {"reduce_broadcast(binomial,chain,x)", "reduce_broadcast takes 2 parts"},
      {"ring(ring)", "ring takes 0 parts"},
      {"native(ring)", "unexpected text after its end: \"(ring)\""},
      {"smp(ring))", "unexpected text after its end: \")\""},
  };
  for (const auto& [text, what] : expected) EXPECT_EQ(error_of(text), "spec \"" + text + "\": " + what);
  EXPECT_EQ(
      error_of("nap", Collective::bcast),
      "spec \"nap\": there is no bcast algorithm \"nap\"; there are native, " + names_of(Collective::bcast));
}

TEST(Spec, RefusesWhatCannotBeMeant) {
  for (const char* text : {"",
                           ":",
                           "ring:",
                           "ring:segments",
                           "ring:segments=",
                           "ring:segments=0",
                           "ring:segments=-1",
                           "ring:segments=4x",
                           "ring:segments=99999999999999999999",
                           "ring:segments=4KiB",
                           "ring:segment_bytes=4XiB",
                           "ring:segment_bytes=99999GiB",
                           "ring:segment_bytes=2GiB",
                           "ring:segments=2:segment_bytes=4",
                           "ring::segments=2",
                           "RING",
                           "ring segments=2",
                           "ring()",
                           "smp()",
                           "(ring)",
                           "smp(ring)ring",
                           "knomial:radix",
                           "knomial:radix=",
                           "knomial:radix=1025",
                           "knomial:radix=2:radix=3",
                           "smp(knomial:radix=1)"}) {
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
