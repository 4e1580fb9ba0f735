// SPDX-License-Identifier: Apache-2.0
#include "learn/races/background_race.hpp"

#include <gtest/gtest.h>

#include <random>

namespace stretto {
namespace {

const Spec choice = parse_spec(Collective::allreduce, "ring");
const Spec library = parse_spec(Collective::allreduce, "native:segments=1");

/// Races calls that take these seconds on each side, with noise. Returns the outcome on a rank.
std::optional<BackgroundRace::Outcome> run(double of_choice, double of_library, double noise, unsigned seed) {
  std::mt19937 random(seed);
  std::lognormal_distribution<double> factor(0, noise);
  BackgroundRace race(choice, library);
  for (std::size_t call = 0; call < BackgroundRace::measured_calls; ++call) {
    EXPECT_FALSE(race.wants_agreement());
    const BackgroundRace::Turn turn = race.next();
    if (!turn.slot) return std::nullopt;
    race.count(*turn.slot, (*turn.spec == choice ? of_choice : of_library) * factor(random));
  }
  EXPECT_TRUE(race.wants_agreement());
  race.agree(race.figures());
  EXPECT_FALSE(race.wants_agreement());
  return race.outcome();
}

TEST(BackgroundRace, TheFasterOneWins) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    EXPECT_EQ(run(1e-3, 2e-3, 0.2, seed)->spec, choice);
    EXPECT_EQ(run(2e-3, 1e-3, 0.2, seed)->spec, library);
  }
  EXPECT_NEAR(run(1e-3, 2e-3, 0, 1)->gain, 2, 1e-9);
}

TEST(BackgroundRace, InDoubtTheLibraryWins) {
  EXPECT_EQ(run(1e-3, 1e-3, 0, 1)->spec, library);
  EXPECT_EQ(run(0.98e-3, 1e-3, 0, 1)->spec, library);
  EXPECT_EQ(run(0, 0, 0, 1)->spec, library);  // all hidden behind the computation
  int won = 0;
  for (unsigned seed = 0; seed < 200; ++seed) won += run(1e-3, 1e-3, 0.2, seed)->spec == choice ? 1 : 0;
  EXPECT_LT(won, 20);
}

TEST(BackgroundRace, BothSidesHaveAsManyCalls) {
  BackgroundRace race(choice, library);
  std::size_t by_choice = 0;
  for (std::size_t call = 0; call < BackgroundRace::measured_calls; ++call) {
    by_choice += *race.next().spec == choice ? 1 : 0;
  }
  EXPECT_EQ(by_choice, BackgroundRace::measured_calls / 2);
}

TEST(BackgroundRace, UntilTheRanksAgreeTheChoiceIsInForce) {
  BackgroundRace race(choice, library);
  for (std::size_t call = 0; call < BackgroundRace::measured_calls; ++call) race.next();
  for (int call = 0; call < 10; ++call) {
    const BackgroundRace::Turn turn = race.next();
    EXPECT_EQ(*turn.spec, choice);
    EXPECT_FALSE(turn.slot);
  }
}

TEST(BackgroundRace, ACallThatHasNotEndedOnARankPutsItOff) {
  BackgroundRace race(choice, library);
  for (std::size_t call = 0; call < BackgroundRace::measured_calls; ++call) {
    const BackgroundRace::Turn turn = race.next();
    if (call > 0) race.count(*turn.slot, 1e-3);
  }
  race.agree(race.figures());
  EXPECT_TRUE(race.wants_agreement());
  EXPECT_FALSE(race.outcome());
  race.count(0, 1e-3);
  race.agree(race.figures());
  EXPECT_TRUE(race.outcome());
}

}  // namespace
}  // namespace stretto
