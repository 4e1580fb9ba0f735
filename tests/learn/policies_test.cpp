// SPDX-License-Identifier: Apache-2.0
// Every policy over random costs, noise and drift, in virtual time.
#include "learn/races/policies.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <numbers>
#include <random>
#include <span>
#include <string_view>
#include <vector>

#include "learn/races/race.hpp"
#include "learn/races/trial.hpp"

namespace stretto {
namespace {

using Side = Trial::Side;
using Verdict = Trial::Verdict;

struct Policy {
  const char* name;
  std::span<const Stage> stages;
};

const std::vector<Policy>& all_policies() {
  static const std::vector<Policy> all{{"duel", policies::duel},
                                       {"duel_with_native", policies::duel_with_native},
                                       {"rematch", policies::rematch},
                                       {"rematch_with_native", policies::rematch_with_native},
                                       {"long_duel", policies::long_duel},
                                       {"long_duel_with_native", policies::long_duel_with_native},
                                       {"long_rematch", policies::long_rematch},
                                       {"long_rematch_with_native", policies::long_rematch_with_native},
                                       {"short_calls", policies::short_calls},
                                       {"private_lengths", policies::private_lengths},
                                       {"background", policies::background},
                                       {"streaming", policies::streaming}};
  return all;
}

/// A world in which only calls take time. The time of all calls grows and shrinks slowly, by `drift`.
class World {
 public:
  World(double noise, double drift, unsigned seed, double late = 0)
      : noise_(noise), drift_(drift), late_(late), random_(seed) {}

  /// The seconds of a call, as one rank measures them.
  double call(double cost) {
    const double weather = 1 + drift_ * std::sin(2 * std::numbers::pi * now_ / period);
    now_ += cost;
    const double lateness = std::bernoulli_distribution(late_)(random_) ? 3 : 1;
    return cost * weather * lateness * std::exp(noise_ * normal_(random_));
  }

 private:
  static constexpr double period = 100;
  double noise_;
  double drift_;
  double late_;  // the share of calls that take three times as long
  std::mt19937 random_;
  std::normal_distribution<double> normal_;
  double now_ = 0;
};

struct Ended {
  Verdict verdict;
  int calls;
};

/// Carries a trial out on three ranks, which measure different times. All must decide alike.
Ended run(const Policy& policy, double defender, double challenger, World& world,
          Side first = Side::defender) {
  std::vector<Trial> ranks(3, Trial(policy.stages, first));
  Ended ended{Verdict::open, 0};
  while (ended.verdict == Verdict::open) {
    const Side side = ranks[0].next();
    for (Trial& rank : ranks) {
      EXPECT_EQ(rank.next(), side) << policy.name;
      rank.count(world.call(side == Side::challenger ? challenger : defender));
    }
    ++ended.calls;
    if (!ranks[0].wants_agreement()) continue;
    std::vector<double> agreed = ranks[0].figures();
    for (const Trial& rank : ranks) {
      EXPECT_TRUE(rank.wants_agreement()) << policy.name;
      const std::vector<double> own = rank.figures();
      std::ranges::transform(agreed, own, agreed.begin(), [](double a, double b) { return std::max(a, b); });
    }
    ended.verdict = ranks[0].agree(agreed);
    for (Trial& rank : std::span(ranks).subspan(1))
      EXPECT_EQ(rank.agree(agreed), ended.verdict) << policy.name;
  }
  return ended;
}

/// Returns how many of a hundred trials the challenger wins, at random costs with this ratio.
int wins(const Policy& policy, double ratio, double noise, double drift, double late = 0) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> magnitude(-6, 0);
  int won = 0;
  for (unsigned seed = 0; seed < 100; ++seed) {
    World world(noise, drift, seed, late);
    const double defender = std::pow(10, magnitude(random));
    won += run(policy, defender, ratio * defender, world).verdict == Verdict::challenger ? 1 : 0;
  }
  return won;
}

TEST(Policies, TurnsAreLettersOfBothSides) {
  for (const Policy& policy : all_policies()) {
    ASSERT_FALSE(policy.stages.empty());
    for (const Stage& stage : policy.stages) {
      const auto count = [&](char letter) {
        return std::ranges::count_if(stage.turns, [=](char one) { return std::tolower(one) == letter; });
      };
      EXPECT_EQ(count('d') + count('c'), std::ssize(stage.turns)) << policy.name;
      EXPECT_EQ(count('d'), count('c')) << policy.name;
      EXPECT_TRUE(std::ranges::any_of(stage.turns, [](char one) { return std::islower(one) != 0; }));
      EXPECT_GE(stage.calls, 1);
    }
    // Every trial ends, and may be won.
    EXPECT_GT(policy.stages.back().wins_below, 0) << policy.name;
  }
}

TEST(Policies, ASlowerChallengerDoesNotWin) {
  for (const Policy& policy : all_policies()) {
    // A challenger that is equally fast may win by chance, `native` more easily than others.
    const bool is_native = std::string_view(policy.name).ends_with("native");
    for (const double drift : {0.0, 0.1}) {
      EXPECT_LE(wins(policy, 1.0, 0.05, drift), is_native ? 25 : 12) << policy.name;
      EXPECT_LE(wins(policy, 1.1, 0.05, drift), 5) << policy.name;
      EXPECT_EQ(wins(policy, 1.3, 0.05, drift), 0) << policy.name;
      EXPECT_EQ(wins(policy, 3.0, 0.05, drift), 0) << policy.name;
    }
  }
}

TEST(Policies, AFasterChallengerWins) {
  for (const Policy& policy : all_policies()) {
    EXPECT_GE(wins(policy, 0.5, 0.05, 0), 99) << policy.name;
    EXPECT_GE(wins(policy, 0.7, 0.05, 0.1), 95) << policy.name;
    EXPECT_EQ(wins(policy, 0.85, 0, 0), 100) << policy.name;
    // One of three ranks is late in every tenth call.
    EXPECT_GE(wins(policy, 0.5, 0.05, 0, 1.0 / 30), 75) << policy.name << " with late ranks";
  }
}

TEST(Policies, TheFirstCallMayBeTheChallengers) {
  for (const Policy& policy : all_policies()) {
    if (std::tolower(policy.stages[0].turns[0]) != 'd') continue;
    World world(0, 0, 1);
    EXPECT_EQ(Trial(policy.stages, Side::challenger).next(), Side::challenger) << policy.name;
    EXPECT_EQ(run(policy, 1e-3, 0.5e-3, world, Side::challenger).verdict, Verdict::challenger) << policy.name;
    EXPECT_EQ(run(policy, 1e-3, 2e-3, world, Side::challenger).verdict, Verdict::defender) << policy.name;
  }
}

/// The cost of the losers' calls is a small share of all calls in a race, whichever side is slower, and even
/// if that changes.
TEST(Policies, RacesCostASmallShare) {
  struct Raced {
    const char* name;
    std::span<const Stage> stages;
    Rest::Limits rests;
  };
  const std::vector<Raced> races{
      {"short_calls", policies::short_calls, policies::rest_of_short_calls},
      {"private_lengths", policies::private_lengths, policies::rest_of_private_lengths}};
  std::mt19937 random(3);
  std::uniform_real_distribution<double> ratio(0.3, 3);
  for (const Raced& raced : races) {
    for (unsigned seed = 0; seed < 20; ++seed) {
      World world(0.1, 0.2, seed);
      Race race(raced.stages, raced.rests);
      const double challenger = ratio(random);
      const double best = std::min(1.0, challenger);
      double spent = 0;
      double lost = 0;
      for (int call = 0; call < 300'000; ++call) {
        const double cost = race.next() == Side::challenger ? challenger : 1.0;
        // The first trial is needed to find out which side is faster.
        if (call > 300) lost += cost - best;
        spent += best;
        if (race.quiet() > 0) {
          race.pass();
          continue;
        }
        race.count(world.call(cost));
        if (race.wants_agreement()) race.agree(race.figures());
      }
      EXPECT_LE(lost, 0.01 * spent) << raced.name << ' ' << challenger;
    }
  }
}

}  // namespace
}  // namespace stretto
