// SPDX-License-Identifier: Apache-2.0
#include "learn/races/standing.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

namespace stretto {
namespace {

constexpr std::size_t bytes = 1 << 20;

Claim claim(Source source, const std::string& spec, double seconds = 0) {
  Claim made{.source = source, .seconds = seconds, .bytes = bytes};
  if (!spec.empty()) made.spec = parse_spec(Collective::allreduce, spec);
  return made;
}

/// Returns the specs of the first calls, which take as long as claims say, until the learner compares
/// nothing.
std::vector<std::string> specs_of_first_calls(Learner learner, const Spec& standing, int calls) {
  std::vector<std::string> used;
  for (int call = 0; call < calls; ++call) {
    if (learner.wants_agreement()) learner.agree(learner.figures(), 1e-5);
    const Spec* other = learner.begin(bytes);
    used.push_back(to_string(other == nullptr ? standing : *other));
    learner.end(0.01);
  }
  return used;
}

TEST(Standing, ARuleIsPresumedSoTheMpiDefaultCallsFirst) {
  const std::vector claims{claim(Source::table, ""), claim(Source::learnt, ""), claim(Source::model, ""),
                           claim(Source::rule, "ring")};
  EXPECT_EQ(specs_of_first_calls(make_learner(claims), *claims[3].spec, 1).front(), "native");
}

TEST(Standing, ATableOrAModelCallsFirst) {
  for (const Source source : {Source::table, Source::model}) {
    const std::vector claims{claim(source, "ring", 0.01), claim(Source::rule, "swing")};
    const std::vector<std::string> used = specs_of_first_calls(make_learner(claims), *claims[0].spec, 8);
    EXPECT_EQ(used.front(), "ring");
    EXPECT_NE(std::ranges::find(used, "native"), used.end());
  }
}

TEST(Standing, ADecisionWithATimeIsBelieved) {
  const std::vector claims{claim(Source::learnt, "ring", 0.01), claim(Source::rule, "swing")};
  for (const std::string& spec : specs_of_first_calls(make_learner(claims), *claims[0].spec, 20))
    EXPECT_EQ(spec, "ring");
}

TEST(Standing, OnlyWhatTheSourceCouldNotKnowChallengesIt) {
  const auto challengers = [](const std::vector<Claim>& claims) {
    std::vector<std::string> used = specs_of_first_calls(make_learner(claims), *claims[0].spec, 4000);
    std::ranges::sort(used);
    used.erase(std::ranges::unique(used).begin(), used.end());
    return used;
  };
  using Names = std::vector<std::string>;
  const Claim rule = claim(Source::rule, "swing");
  EXPECT_EQ(challengers({claim(Source::table, "ring"), claim(Source::model, "rabenseifner", 0.01), rule}),
            (Names{"native", "ring"}));
  EXPECT_EQ(
      challengers({claim(Source::model, "ring", 0.01), claim(Source::model, "rabenseifner", 0.01), rule}),
      (Names{"native", "rabenseifner", "ring"}));
  const Names decided = challengers({claim(Source::learnt, "ring"), rule});
  EXPECT_NE(std::ranges::find(decided, "native"), decided.end());
}

TEST(Standing, SimilarCallsTellWhatTheLibraryTakes) {
  const std::vector<KnownGain> known{
      {.bytes = 1 << 10, .gain = 12}, {.bytes = 1 << 18, .gain = 2}, {.bytes = 1 << 22, .gain = 0}};
  EXPECT_EQ(gain_of_similar({}, 1 << 10), 0);
  EXPECT_DOUBLE_EQ(gain_of_similar(known, 1 << 8), 12);
  EXPECT_DOUBLE_EQ(gain_of_similar(known, 1 << 12), 12);
  EXPECT_DOUBLE_EQ(gain_of_similar(known, 1 << 13), 12 / std::sqrt(2));
  EXPECT_DOUBLE_EQ(gain_of_similar(known, 1 << 17), 2);
  // There the library is faster.
  EXPECT_EQ(gain_of_similar(known, 1 << 24), 0);
  EXPECT_DOUBLE_EQ(gain_of_similar({known.data(), 1}, 0), 12 / std::sqrt(256));
}

}  // namespace
}  // namespace stretto
