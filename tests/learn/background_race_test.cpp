// SPDX-License-Identifier: Apache-2.0
#include "learn/races/background_race.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <utility>
#include <vector>

namespace stretto {
namespace {

const Spec choice = parse_spec(Collective::allreduce, "ring");
const Spec library = parse_spec(Collective::allreduce, "native:segments=1");
constexpr std::size_t measured_calls = policies::background[0].turns.size();

/// Races calls that take these seconds on each side, with noise. Returns the outcome on a rank.
std::optional<BackgroundRace::Outcome> run(double of_choice, double of_library, double noise, unsigned seed) {
  std::mt19937 random(seed);
  std::lognormal_distribution<double> factor(0, noise);
  const auto race_of = BackgroundRace::with_library(choice, library);
  BackgroundRace& race = *race_of;
  for (std::size_t call = 0; call < measured_calls; ++call) {
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
  const auto race_of = BackgroundRace::with_library(choice, library);
  BackgroundRace& race = *race_of;
  std::size_t by_choice = 0;
  for (std::size_t call = 0; call < measured_calls; ++call) {
    by_choice += *race.next().spec == choice ? 1 : 0;
  }
  EXPECT_EQ(by_choice, measured_calls / 2);
}

TEST(BackgroundRace, UntilTheRanksAgreeTheChoiceIsInForce) {
  const auto race_of = BackgroundRace::with_library(choice, library);
  BackgroundRace& race = *race_of;
  for (std::size_t call = 0; call < measured_calls; ++call) race.next();
  for (int call = 0; call < 10; ++call) {
    const BackgroundRace::Turn turn = race.next();
    EXPECT_EQ(*turn.spec, choice);
    EXPECT_FALSE(turn.slot);
  }
}

TEST(BackgroundRace, ACallThatHasNotEndedOnARankPutsItOff) {
  const auto race_of = BackgroundRace::with_library(choice, library);
  BackgroundRace& race = *race_of;
  const BackgroundRace::Turn first = race.next();
  for (std::size_t call = 1; call < measured_calls; ++call) race.count(*race.next().slot, 1e-3);
  race.agree(race.figures());
  EXPECT_TRUE(race.wants_agreement());
  EXPECT_FALSE(race.outcome());
  race.count(*first.slot, 1e-3);
  race.agree(race.figures());
  EXPECT_TRUE(race.outcome());
}

/// Lets specs race without a library, whose calls take so long, and returns the race when it is over.
std::shared_ptr<BackgroundRace> run_without_library(const std::vector<std::pair<Spec, double>>& seconds_of,
                                                    double noise, unsigned seed, double& seconds,
                                                    int& calls) {
  std::mt19937 random(seed);
  std::lognormal_distribution<double> factor(0, noise);
  std::vector<Spec> challengers;
  for (std::size_t i = 1; i < seconds_of.size(); ++i) challengers.push_back(seconds_of[i].first);
  auto race = BackgroundRace::without_library(seconds_of[0].first, challengers, {});
  for (calls = 0, seconds = 0; !race->outcome() && calls < 10'000; ++calls) {
    if (race->wants_agreement()) race->agree(race->figures());
    const BackgroundRace::Turn turn = race->next();
    const auto of_spec = std::ranges::find(seconds_of, *turn.spec, [](const auto& one) { return one.first; });
    const double took = of_spec->second * factor(random);
    seconds += took;
    if (turn.slot) race->count(*turn.slot, took);
  }
  EXPECT_TRUE(race->outcome());
  return race;
}

TEST(BackgroundRace, WithoutALibraryTheFastestSpecWins) {
  const Spec doubling = parse_spec(Collective::allreduce, "recursive_doubling");
  const Spec halving = parse_spec(Collective::allreduce, "rabenseifner");
  double seconds = 0;
  int calls = 0;
  for (unsigned seed = 0; seed < 20; ++seed) {
    const auto race =
        run_without_library({{choice, 3e-3}, {doubling, 1e-3}, {halving, 2e-3}}, 0.1, seed, seconds, calls);
    EXPECT_EQ(race->outcome()->spec, doubling);
    EXPECT_GT(race->outcome()->gain, 1.5);
    EXPECT_EQ(run_without_library({{choice, 1e-3}, {doubling, 3e-3}}, 0.1, seed, seconds, calls)->in_force(),
              choice);
  }
}

/// A challenger that is ten times slower makes three calls, after the first ones of the job.
TEST(BackgroundRace, WithoutALibraryWhatIsHopelessCostsThreeCalls) {
  const Spec doubling = parse_spec(Collective::allreduce, "recursive_doubling");
  double seconds = 0;
  int calls = 0;
  const auto race = run_without_library({{choice, 1e-3}, {doubling, 1e-2}}, 0.1, 1, seconds, calls);
  EXPECT_EQ(race->outcome()->gain, 0);
  EXPECT_NEAR(seconds, 1e-3 * (calls - 3) + 3e-2, 5e-3);
  auto first = BackgroundRace::without_library(choice, {doubling}, {});
  for (int call = 0; call < 8; ++call) EXPECT_FALSE(first->next().slot);
}

/// Specs load different links, so the first calls of another spec use what its links have saved: they take
/// less time until that is used up.
TEST(BackgroundRace, WithoutALibrarySavedBytesDecideNothing) {
  const Spec doubling = parse_spec(Collective::allreduce, "recursive_doubling");
  constexpr double most_saved = 10e-3;
  const auto race = BackgroundRace::without_library(choice, {doubling}, {.saved_seconds = most_saved});
  std::array<double, 2> saved{0, most_saved};
  for (int call = 0; call < 5'000; ++call) {
    if (race->wants_agreement()) race->agree(race->figures());
    const BackgroundRace::Turn turn = race->next();
    const std::size_t side = *turn.spec == choice ? 0 : 1;
    const double whole = side == 0 ? 0.5e-3 : 0.6e-3;
    const double used = std::min(saved[side], 0.8 * whole);
    saved[side] -= used;
    saved[1 - side] = std::min(most_saved, saved[1 - side] + whole - used);
    if (turn.slot) race->count(*turn.slot, whole - used);
  }
  EXPECT_EQ(race->outcome()->spec, choice);
}

/// What links have saved matters little in long calls.
TEST(BackgroundRace, WithoutALibraryLongCallsThatAreHopelessAreThree) {
  const Spec doubling = parse_spec(Collective::allreduce, "recursive_doubling");
  const auto race = BackgroundRace::without_library(choice, {doubling}, {.saved_seconds = 10.5e-3});
  int by_challenger = 0;
  for (int call = 0; call < 40; ++call) {
    if (race->wants_agreement()) race->agree(race->figures());
    const BackgroundRace::Turn turn = race->next();
    const bool is_challengers = *turn.spec == doubling;
    by_challenger += is_challengers ? 1 : 0;
    if (turn.slot) race->count(*turn.slot, is_challengers ? 0.08 : 0.037);
  }
  EXPECT_EQ(by_challenger, 3);
}

/// Five ranks gather 4 KiB: a spec that sends twice as many bytes is faster while links have saved enough.
TEST(BackgroundRace, WithoutALibraryWhatIsFastInARowWins) {
  const Spec bruck = parse_spec(Collective::allgather, "bruck");
  const Spec doubling = parse_spec(Collective::allgather, "recursive_doubling");
  constexpr double most_saved = 10.5e-3;
  const auto race = BackgroundRace::without_library(doubling, {bruck}, {.saved_seconds = most_saved});
  struct Side {
    double by_processor;
    double by_link;
    double saved = most_saved;
  };
  std::array<Side, 2> sides{Side{.by_processor = 0.13e-3, .by_link = 0.35e-3},
                            Side{.by_processor = 0.22e-3, .by_link = 0.13e-3}};
  for (int call = 0; call < 2'000 && !race->outcome(); ++call) {
    if (race->wants_agreement()) race->agree(race->figures());
    const BackgroundRace::Turn turn = race->next();
    Side& own = sides.at(*turn.spec == doubling ? 0 : 1);
    const double took = std::max(own.by_processor, own.by_link - own.saved);
    own.saved -= own.by_link;
    for (Side& side : sides) side.saved = std::min(most_saved, side.saved + took);
    if (turn.slot) race->count(*turn.slot, took);
  }
  ASSERT_TRUE(race->outcome());
  EXPECT_EQ(race->outcome()->spec, bruck);
}

/// Links that were idle pass the first bytes at once. What was decided by then is corrected later.
TEST(BackgroundRace, WithoutALibraryWhatChangesIsSeen) {
  const Spec doubling = parse_spec(Collective::allreduce, "recursive_doubling");
  const auto race = BackgroundRace::without_library(choice, {doubling}, {});
  int by_slower = 0;
  for (int call = 0; call < 20'000; ++call) {
    if (race->wants_agreement()) race->agree(race->figures());
    const BackgroundRace::Turn turn = race->next();
    const bool is_first = call < 100 || call > 10'000;
    const bool is_fast = (*turn.spec == choice) == is_first;
    if (turn.slot) race->count(*turn.slot, is_fast ? 1e-3 : 2e-3);
    if (!is_fast) ++by_slower;
  }
  EXPECT_EQ(race->in_force(), choice);
  EXPECT_LT(by_slower, 3'000);
}

TEST(BackgroundRace, WithoutALibraryRacesCostLittle) {
  const Spec doubling = parse_spec(Collective::allreduce, "recursive_doubling");
  const auto race = BackgroundRace::without_library(choice, {doubling}, {});
  double seconds = 0;
  constexpr int calls = 20'000;
  for (int call = 0; call < calls; ++call) {
    if (race->wants_agreement()) race->agree(race->figures());
    const BackgroundRace::Turn turn = race->next();
    const double took = *turn.spec == choice ? 1 : 3;
    if (turn.slot) race->count(*turn.slot, took);
    seconds += took;
  }
  EXPECT_LT(seconds, 1.01 * calls);
}

TEST(BackgroundRace, WithoutALibraryAlikeSpecsChangeRarely) {
  const Spec doubling = parse_spec(Collective::allreduce, "recursive_doubling");
  double seconds = 0;
  int calls = 0;
  int changes = 0;
  for (unsigned seed = 0; seed < 200; ++seed)
    changes +=
        run_without_library({{choice, 1e-3}, {doubling, 1e-3}}, 0.2, seed, seconds, calls)->in_force() ==
                doubling
            ? 1
            : 0;
  EXPECT_LT(changes, 20);
}

}  // namespace
}  // namespace stretto
