// SPDX-License-Identifier: Apache-2.0
#include "learn/races/learner.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>

namespace stretto {
namespace {

Spec allreduce(const std::string& text) {
  return parse_spec(Collective::allreduce, text);
}

/// The specs whose costs a job has.
const std::vector<Spec>& ways() {
  static const std::vector<Spec> all{allreduce("ring:segment_bytes=256KiB"),
                                     allreduce("native"),
                                     allreduce("ring:segment_bytes=64KiB"),
                                     allreduce("ring:segment_bytes=1MiB"),
                                     allreduce("rabenseifner"),
                                     allreduce("recursive_doubling")};
  return all;
}

/// A job on four ranks that calls the same collective again and again.
struct Job {
  std::vector<double> costs;          // seconds per call, by way; the first is that of the standing choice
  double expected_by_model = 5;       // the seconds of all but the first two, as a multiple of the first, ...
  std::vector<double> by_model = {};  // ... unless these are given, by way
  double noise = 0.05;                // standard deviation of the logarithm of a call's time
  double drift = 0;                   // the share by which the time of all ways grows and shrinks
  double agreement = 0.0005;
  int calls = 20000;
  unsigned seed = 1;
  std::vector<std::size_t> sizes = {1 << 20};
  Learner::Standing known = Learner::Standing::proven;
  double expected = 0;            // seconds of a call, as known beforehand
  double least = 0;               // seconds that the network allows, by the model; 0: not known
  double native_expected = 0;     // the time of `native` by similar calls, as a multiple; 0: not known
  double first_call = 0;          // seconds that the first call by each way takes longer
  int changes_at = 1 << 30;       // from this call on, ...
  std::vector<double> then = {};  // ... these are the costs
  double after_another = 0;       // seconds that a call after a call by another way takes longer
  // For links that save up bytes which then pass at once: the seconds that they save up, for each way by
  // itself, and the seconds of a call, by way, that finds enough saved up.
  double saved = 0;
  std::vector<double> on_saved = {};
  int late_each = 1 << 30;  // once in this number of calls, a rank comes a second late
};

struct Result {
  double worst_loss = -1;  // of the time so far, against `native` in all calls, from the 200th call on
  double final_cost = 0;   // seconds of a call by the way in use at the end
  std::vector<int> used;   // the way of each call
  std::optional<Learner::Outcome> outcome;
  bool settled = false;
  int changes = 0;  // of the network, as it seemed
};

constexpr std::size_t ranks = 4;

std::vector<Candidate> candidates(const std::vector<double>& expected) {
  std::vector<Candidate> all;
  for (std::size_t i = 1; i < expected.size(); ++i)
    all.push_back({.spec = ways()[i], .expected = expected[i] / expected[0]});
  return all;
}

/// The learner at the beginning of a job, or on another network.
Learner make_learner(const Job& job, const std::vector<double>& by_model, Learner::Standing known) {
  Learner learner(ways()[0], known, candidates(by_model));
  if (job.expected > 0 && known == Learner::Standing::decided) learner.expect(job.expected, job.sizes[0]);
  if (job.least > 0) learner.promise(job.least, job.sizes[0]);
  learner.expect_native(job.native_expected);
  return learner;
}

Result run(const Job& job) {
  std::mt19937 random(job.seed);
  std::normal_distribution<double> normal;
  std::vector<double> by_model = job.by_model;
  if (by_model.empty()) {
    by_model.assign(job.costs.size(), job.expected_by_model);
    by_model[0] = 1;
  }
  std::vector<Learner> learners(ranks, make_learner(job, by_model, job.known));
  std::vector<double> saved(job.costs.size(), job.saved);
  std::vector<bool> was_used(job.costs.size(), false);
  Result result;
  double spent = 0;
  double loss = 0;
  for (int call = 0; call < job.calls; ++call) {
    const bool agrees = learners[0].wants_agreement();
    for (const Learner& learner : learners) EXPECT_EQ(learner.wants_agreement(), agrees);
    if (agrees) {
      std::vector<double> maxima = learners[0].figures();
      for (const Learner& learner : learners) {
        const std::vector<double> own = learner.figures();
        for (std::size_t i = 0; i < own.size(); ++i) maxima[i] = std::max(maxima[i], own[i]);
      }
      // The ranks measure different times.
      for (std::size_t rank = 0; rank < ranks; ++rank) {
        learners[rank].agree(maxima, job.agreement * (1 + static_cast<double>(rank)));
      }
      loss += job.agreement;
      spent += job.agreement;
      const bool has_broken_word = learners[0].take_broken_word();
      const bool has_changed = learners[0].take_change() || has_broken_word;
      for (std::size_t rank = 0; rank < ranks; ++rank) {
        if (rank > 0) {
          EXPECT_EQ(learners[rank].take_broken_word(), has_broken_word);
          EXPECT_EQ(learners[rank].take_change() || has_broken_word, has_changed);
        }
        if (!has_changed) continue;
        const bool is_decided = job.known == Learner::Standing::decided;
        Learner again = make_learner(job, by_model, is_decided ? Learner::Standing::modelled : job.known);
        again.take_over_losses(learners[rank]);
        learners[rank] = again;
      }
      if (has_changed) ++result.changes;
    }
    const std::size_t bytes = job.sizes[static_cast<std::size_t>(call) % job.sizes.size()];
    const Spec* spec = learners[0].begin(bytes);
    const auto way = spec == nullptr ? 0 : std::ranges::find(ways(), *spec) - ways().begin();
    for (std::size_t rank = 1; rank < ranks; ++rank) {
      const Spec* other = learners[rank].begin(bytes);
      EXPECT_EQ(other == nullptr ? ways()[0] : *other, ways()[static_cast<std::size_t>(way)]);
    }
    const double weather = 1 + job.drift * std::sin(call / 2000.0);
    const double scale = weather * static_cast<double>(bytes) / (1 << 20);
    const std::vector<double>& costs = call < job.changes_at ? job.costs : job.then;
    double cost = costs[static_cast<std::size_t>(way)] * scale;
    if (job.saved > 0) {
      double& left = saved[static_cast<std::size_t>(way)];
      const double by_link = cost;
      cost = std::max(job.on_saved[static_cast<std::size_t>(way)], by_link - left);
      left -= by_link;
      for (double& one : saved) one = std::min(job.saved, one + cost);
    }
    if (!was_used[static_cast<std::size_t>(way)]) cost += job.first_call;
    was_used[static_cast<std::size_t>(way)] = true;
    if (!result.used.empty() && result.used.back() != static_cast<int>(way)) cost += job.after_another;
    const double common = std::exp(job.noise * normal(random));
    const double late = call % job.late_each == job.late_each - 1 ? 1 : 0;
    for (Learner& learner : learners) {
      const double waited = &learner == &learners[0] ? 0 : late;
      const double seconds = cost * common * std::exp(job.noise / 5 * normal(random)) + waited;
      if (learner.wants_time()) learner.end(seconds);
    }
    spent += cost;
    loss += cost - costs[costs.size() > 1 ? 1 : 0] * scale;
    if (call >= 200) result.worst_loss = std::max(result.worst_loss, loss / spent);
    result.used.push_back(static_cast<int>(way));
  }
  result.outcome = learners[0].outcome();
  result.settled = learners[0].is_settled();
  const auto way = std::ranges::find(ways(), learners[0].in_force()) - ways().begin();
  result.final_cost = (job.then.empty() ? job.costs : job.then)[static_cast<std::size_t>(way)];
  return result;
}

using enum Learner::Standing;

/// How often a way was used in the calls from `from` to `until`.
int times_used(const Result& result, int way, std::size_t from, std::size_t until) {
  const auto begin = result.used.begin();
  return static_cast<int>(
      std::count(begin + static_cast<std::ptrdiff_t>(from), begin + static_cast<std::ptrdiff_t>(until), way));
}

TEST(Learner, AFasterStandingChoiceIsInForceAfterTwentyCalls) {
  const Result result = run({.costs = {0.01, 0.015}, .calls = 200, .known = presumed});
  EXPECT_EQ(result.used[0], 1);
  // Each of two rematches takes six calls of the other one.
  EXPECT_GE(times_used(result, 0, 20, 200), 168);
  ASSERT_TRUE(result.outcome.has_value());
  EXPECT_EQ(result.outcome->spec, ways()[0]);
  EXPECT_NEAR(result.outcome->gain, 1.5, 0.15);
}

TEST(Learner, ASlowerStandingChoiceIsUsedTwice) {
  for (const double factor : {1.7, 2.0, 2.5}) {
    const Result result = run({.costs = {0.01 * factor, 0.01}, .calls = 300, .known = presumed});
    EXPECT_EQ(times_used(result, 0, 0, 200), 2);
    EXPECT_LT(result.worst_loss, 0.02);
    ASSERT_TRUE(result.outcome.has_value());
    EXPECT_TRUE(result.outcome->spec.is_pass_through());
  }
}

TEST(Learner, WithoutADifferenceTheDefenderStays) {
  for (const auto known : {presumed, proven}) {
    const Result result = run({.costs = {0.01, 0.01}, .noise = 0.01, .calls = 1000, .known = known});
    EXPECT_EQ(result.used.back(), known == presumed ? 1 : 0);
    EXPECT_LT(result.worst_loss, 0.02);
  }
}

TEST(Learner, AProvenChoiceIsInForceFromTheFirstCall) {
  const Result result = run({.costs = {0.01, 0.015}, .calls = 200, .known = proven});
  EXPECT_EQ(result.used[0], 0);
  EXPECT_LE(times_used(result, 1, 0, 200), 6);
  ASSERT_TRUE(result.outcome.has_value());
  EXPECT_EQ(result.outcome->spec, ways()[0]);
}

TEST(Learner, ADecidedChoiceIsInForceInEveryCall) {
  const Result result = run({.costs = {0.01, 0.009}, .calls = 2000, .known = decided, .expected = 0.01});
  EXPECT_EQ(times_used(result, 0, 0, 2000), 2000);
  EXPECT_FALSE(result.outcome.has_value());
}

TEST(Learner, ADecidedChoiceIsComparedAnewOnAnotherNetwork) {
  const Job job{.costs = {0.03, 0.01}, .calls = 50, .known = decided, .expected = 0.01};
  const Result result = run(job);
  EXPECT_EQ(result.used.front(), 0);
  EXPECT_EQ(result.used.back(), 1);
  ASSERT_TRUE(result.outcome.has_value());
  EXPECT_TRUE(result.outcome->spec.is_pass_through());
  EXPECT_EQ(result.outcome->call_bytes, 1 << 20);
  EXPECT_NEAR(result.outcome->call_seconds, 0.01, 0.002);
}

TEST(Learner, ADecidedChoiceThatTakesManyTimesAsLongMakesTwoCalls) {
  for (const std::size_t longer : {1, 2}) {
    Job job{.costs = {3.0, 0.01}, .calls = 100, .known = decided, .expected = 0.01};
    job.sizes = {std::size_t{1} << 20, longer << 20};
    const Result result = run(job);
    EXPECT_EQ(times_used(result, 0, 0, 2), 2);
    // Afterwards it has a duel like any other.
    EXPECT_LE(times_used(result, 0, 2, 100), 2);
    EXPECT_EQ(result.changes, 1);
    EXPECT_TRUE(result.outcome->spec.is_pass_through());
  }
}

TEST(Learner, ADecidedChoiceStaysThoughTheFirstCallConnectsAndARankComesLate) {
  const Job connects{
      .costs = {0.01, 0.015}, .calls = 100, .known = decided, .expected = 0.01, .first_call = 5};
  EXPECT_EQ(times_used(run(connects), 0, 0, 100), 100);
  const Job is_late{.costs = {0.01, 0.015}, .calls = 3, .known = decided, .expected = 0.01, .late_each = 1};
  EXPECT_EQ(run(is_late).changes, 0);
}

TEST(Learner, TheFirstCallOfAChoiceDecidesNothing) {
  const Result result = run({.costs = {0.01, 0.015}, .calls = 200, .known = presumed, .first_call = 0.1});
  EXPECT_GE(times_used(result, 0, 20, 200), 168);
}

TEST(Learner, RanksThatAreLateDecideNothing) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    const Job faster{.costs = {0.01, 0.015}, .calls = 300, .seed = seed, .known = presumed, .late_each = 10};
    EXPECT_EQ(run(faster).final_cost, 0.01) << seed;
    const Job slower{.costs = {0.02, 0.01}, .calls = 300, .seed = seed, .known = presumed, .late_each = 10};
    EXPECT_EQ(run(slower).final_cost, 0.01) << seed;
  }
}

TEST(Learner, AnotherNetworkIsNoticedWithinFiftyCalls) {
  // The standing choice was faster, and becomes slower.
  Job job{.costs = {0.01, 0.015}, .calls = 1050, .known = presumed, .changes_at = 1000, .then = {0.06, 0.03}};
  EXPECT_EQ(run(job).used.back(), 1);
  // The other way round.
  job.costs = {0.015, 0.01};
  job.then = {0.02, 0.04};
  EXPECT_EQ(run(job).used.back(), 0);
  // Both become slower alike: what was found still holds.
  job.costs = {0.01, 0.015};
  job.then = {0.02, 0.03};
  EXPECT_EQ(run(job).used.back(), 0);
}

TEST(Learner, CallsBehindOthersThatAreSlowAreNoNewNetwork) {
  // Measured on links of 50 and 200 Mbit/s: a call of 16 KiB meets bytes that the call before it has left.
  const Result result = run({.costs = {0.0028, 0.0049}, .known = presumed, .after_another = 0.0023});
  EXPECT_EQ(result.final_cost, 0.0028);
  EXPECT_LT(times_used(result, 1, 200, 20000), 100);
}

TEST(Learner, CallsOnWhatLinksHaveSavedUpDecideNothing) {
  // Measured on links of 50 and 200 Mbit/s, 16 KiB: `native` is the faster one only until they are empty.
  for (unsigned seed = 1; seed <= 20; ++seed) {
    const Job job{.costs = {0.0028, 0.005},
                  .calls = 200,
                  .seed = seed,
                  .known = modelled,
                  .saved = 0.02,
                  .on_saved = {0.0024, 0.0009}};
    EXPECT_EQ(run(job).final_cost, 0.0028) << seed;
  }
}

TEST(Learner, ALoserThatIsCalledAgainIsNotCalledForEver) {
  // The loser is called in a row from the 36th call on, and then calls of that size no longer come.
  Job job{.costs = {0.0062, 0.005},
          .calls = 4000,
          .known = modelled,
          .saved = 0.02,
          .on_saved = {0.0024, 0.0009}};
  job.sizes.assign(40, 1 << 20);
  job.sizes.resize(4000, 900 << 10);
  const Result result = run(job);
  EXPECT_EQ(times_used(result, 0, 36, 40), 4);
  EXPECT_LT(times_used(result, 0, 40, 4000), 200);
}

/// With any costs on such links, the choice in force is nearly the best in a row.
TEST(Learner, FindsWhatIsFastInARow) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> spread(0, 1.2);
  int far_from_best = 0;
  constexpr int jobs = 40;
  for (int number = 0; number < jobs; ++number) {
    Job job{
        .costs = {}, .calls = 4000, .seed = static_cast<unsigned>(number), .known = modelled, .saved = 0.01};
    for (int way = 0; way < 4; ++way) {
      job.costs.push_back(0.0005 * std::exp(spread(random)));
      job.on_saved.push_back(job.costs.back() * std::exp(-1.5 * spread(random)));
    }
    job.agreement = 0.0001;
    // The standing choice is the model's best one.
    for (const double cost : job.costs)
      job.by_model.push_back(cost * std::exp(0.15 * (spread(random) - 0.6)));
    std::size_t best_by_model = 0;
    for (std::size_t way = 2; way < 4; ++way) {
      if (job.by_model[way] < job.by_model[best_by_model]) best_by_model = way;
    }
    std::swap(job.costs[0], job.costs[best_by_model]);
    std::swap(job.on_saved[0], job.on_saved[best_by_model]);
    std::swap(job.by_model[0], job.by_model[best_by_model]);
    const Result result = run(job);
    const double best = *std::ranges::min_element(job.costs);
    if (result.final_cost > 1.1 * best) ++far_from_best;
    EXPECT_LE(result.final_cost, 1.1 * job.costs[1]) << number;
    EXPECT_LE(result.changes, 4) << number;
  }
  EXPECT_LE(far_from_best, jobs / 10);
}

TEST(Learner, ANoisyNetworkIsNoNewOne) {
  const Result result = run({.costs = {0.01, 0.015}, .noise = 0.3, .calls = 20000, .known = presumed});
  EXPECT_GT(times_used(result, 0, 200, 20000), 19800 * 97 / 100);
}

/// With any costs: the loss against `native` is bounded from the 200th call on, and the final choice is close
/// to the best.
void check_random_jobs(double noise, double drift, double near, double slowest, unsigned first_seed,
                       double most_lost = 0.02) {
  std::mt19937 random(first_seed);
  std::uniform_real_distribution<double> exponent(-0.7, std::log(slowest));
  std::normal_distribution<double> error(0, 0.15);
  int far_from_best = 0;
  constexpr int jobs = 40;
  for (int job = 0; job < jobs; ++job) {
    // A model knows nearly the costs of all ways except `native`. The standing choice is its best way.
    std::vector<double> costs;
    std::vector<double> by_model;
    while (costs.size() + 1 < ways().size()) {
      costs.push_back(0.01 * std::exp(exponent(random)));
      by_model.push_back(costs.back() * std::exp(error(random)));
    }
    const auto best = std::ranges::min_element(by_model) - by_model.begin();
    std::swap(costs[0], costs[static_cast<std::size_t>(best)]);
    std::swap(by_model[0], by_model[static_cast<std::size_t>(best)]);
    // It takes at most 2.4 times as long as `native`.
    costs[0] = std::min(costs[0], 0.024);
    costs.insert(costs.begin() + 1, 0.01);
    by_model.insert(by_model.begin() + 1, 0);
    const Result result = run({.costs = costs,
                               .by_model = by_model,
                               .noise = noise,
                               .drift = drift,
                               .seed = first_seed + static_cast<unsigned>(job),
                               .known = modelled});
    EXPECT_LT(result.worst_loss, most_lost) << "job " << job;
    EXPECT_LT(result.final_cost, near * std::min(costs[0], costs[1])) << "job " << job;
    if (result.final_cost > near * *std::ranges::min_element(costs)) ++far_from_best;
  }
  EXPECT_LE(far_from_best, jobs / 20);
}

TEST(Learner, BoundsItsLossInQuietJobs) {
  check_random_jobs(0.03, 0, 1.05, 3, 100);
}

TEST(Learner, BoundsItsLossWhereCandidatesAreTenTimesSlower) {
  check_random_jobs(0.05, 0, 1.1, 10, 200);
}

TEST(Learner, BoundsItsLossInNoise) {
  // The noise hides that a choice is slower by some percent.
  check_random_jobs(0.3, 0, 1.4, 4, 300, 0.07);
}

TEST(Learner, BoundsItsLossWhereTimesDrift) {
  check_random_jobs(0.1, 0.5, 1.1, 4, 400);
}

TEST(Learner, RematchesAreFew) {
  for (const double cost : {0.008, 0.01, 0.012}) {
    const Result result = run({.costs = {cost, 0.01}, .calls = 20000, .known = presumed});
    const int last = result.used.back();
    EXPECT_EQ(last, cost < 0.01 ? 0 : 1) << cost;
    // Each rematch takes two to eighteen calls of the other one, and there are ten.
    EXPECT_GE(times_used(result, last, 20, 20000), 20000 - 20 - 180);
  }
}

TEST(Learner, ShortCallsAreComparedInSpiteOfTheirNoise) {
  int right = 0;
  for (unsigned seed = 1; seed <= 50; ++seed) {
    const Result result = run({.costs = {20e-6, 35e-6},
                               .noise = 0.3,
                               .agreement = 15e-6,
                               .calls = 200,
                               .seed = seed,
                               .known = modelled});
    right += result.used.back() == 0 ? 1 : 0;
  }
  EXPECT_GE(right, 45);
}

TEST(Learner, TwoSlowCandidatesOfShortCallsCostLittle) {
  double sum = 0;
  for (const double scale : {1.0, 50.0}) {
    for (unsigned seed = 1; seed <= 20; ++seed) {
      const Result result = run({.costs = {30e-6 * scale, 20e-6 * scale, 28e-6 * scale},
                                 .expected_by_model = 1.05,
                                 .noise = 0.1,
                                 .agreement = 10e-6,
                                 .calls = 400,
                                 .seed = seed,
                                 .known = modelled});
      // An agreement takes half a call's time here.
      EXPECT_LT(result.worst_loss, 0.03);
      sum += result.worst_loss;
      EXPECT_GE(times_used(result, 1, 300, 400), 80);
    }
  }
  EXPECT_LT(sum / 40, 0.015);
}

TEST(Learner, ARematchCorrectsADuelThatWasDisturbed) {
  // The first calls by `native` meet another program; then it is the faster one.
  Job job{.costs = {0.01, 0.03}, .calls = 400, .known = presumed};
  job.changes_at = 12;
  job.then = {0.01, 0.007};
  const Result result = run(job);
  EXPECT_GE(times_used(result, 1, 100, 400), 290);
}

TEST(Learner, TheNextCandidateChallengesTheWinner) {
  Job job{.costs = {0.01, 0.015, 0.007}, .expected_by_model = 1.1, .calls = 200, .known = modelled};
  const Result result = run(job);
  EXPECT_EQ(result.used[0], 0);
  EXPECT_GE(times_used(result, 2, 24, 200), 200 - 24 - 12);
  ASSERT_TRUE(result.outcome.has_value());
  EXPECT_NEAR(result.outcome->gain, 15.0 / 7, 0.3);
}

TEST(Learner, ACandidateThatShouldBeSlowerIsNotCalled) {
  // The model expects the third to take five times as long as the first, which `native` beats.
  Job job{.costs = {0.01, 0.007, 0.05}, .calls = 2000, .known = modelled};
  EXPECT_EQ(times_used(run(job), 2, 0, 2000), 0);
}

/// The seconds of the first calls.
double seconds_of(const Result& result, const std::vector<double>& costs, std::size_t calls) {
  double sum = 0;
  for (std::size_t call = 0; call < calls; ++call) sum += costs[static_cast<std::size_t>(result.used[call])];
  return sum;
}

TEST(Learner, ALongCallThatTakesWhatTheNetworkAllowsIsNotCompared) {
  // A broadcast of 16 MiB on eight nodes: the model's chain, Open MPI's own, and other chains.
  const std::vector<double> costs{0.70, 4.9, 1.31, 2.19};
  const Result result =
      run({.costs = costs, .by_model = {0.7, 0, 1.28, 2.1}, .noise = 0.02, .known = modelled, .least = 0.69});
  EXPECT_EQ(times_used(result, 0, 0, 300), 300);
  // But in the end `native` is, when its loss is little beside all calls.
  EXPECT_GT(times_used(result, 1, 300, 20000), 0);
  EXPECT_EQ(times_used(result, 2, 0, 20000) + times_used(result, 3, 0, 20000), 0);
  ASSERT_TRUE(result.outcome.has_value());
  EXPECT_EQ(result.outcome->spec, ways()[0]);
}

TEST(Learner, CallsOfSomeMillisecondsAreTakenOnTrustToo) {
  for (const double least : {0.0005, 0.003}) {
    const Result result = run({.costs = {1.1 * least, 4 * least, 1.3 * least},
                               .by_model = {1, 0, 1.2},
                               .agreement = 1e-4,
                               .calls = 300,
                               .known = modelled,
                               .least = least});
    EXPECT_EQ(times_used(result, 0, 0, 300) == 300, least > 0.001) << least;
  }
}

TEST(Learner, WhatSimilarCallsHaveLostIsNotLostAgain) {
  // MPICH with two ranks on a core, where its ranks spin.
  for (const double call : {0.0003, 0.005, 0.1}) {
    const Result result = run({.costs = {call, 20 * call, 1.2 * call},
                               .by_model = {1, 0, 1.3},
                               .agreement = call / 10,
                               .known = modelled,
                               .native_expected = 20});
    EXPECT_EQ(times_used(result, 1, 0, 500), 0) << call;
    EXPECT_GT(times_used(result, 1, 500, 20000), 0) << call;
    EXPECT_EQ(result.final_cost, call);
  }
}

TEST(Learner, SimilarCallsMayHaveMisled) {
  for (const double call : {0.0003, 0.005, 0.1}) {
    const Result result =
        run({.costs = {call, 0.7 * call}, .agreement = call / 10, .known = modelled, .native_expected = 4});
    EXPECT_EQ(result.used[0], 0) << call;
    EXPECT_GT(times_used(result, 1, 0, 1500), 500) << call;
    EXPECT_EQ(result.final_cost, 0.7 * call);
  }
}

TEST(Learner, WhatIsTakenOnTrustIsNoNewsForTheNextJob) {
  Learner learner(ways()[0], modelled, candidates({1, 1}));
  learner.promise(0.69, 1 << 20);
  EXPECT_EQ(learner.begin(1 << 20), nullptr);
  ASSERT_TRUE(learner.wants_time());
  learner.end(0.7);
  ASSERT_TRUE(learner.wants_agreement());
  learner.agree(learner.figures(), 1e-4);
  EXPECT_FALSE(learner.take_news().has_value());
  ASSERT_TRUE(learner.outcome().has_value());
  EXPECT_EQ(learner.outcome()->gain, 0);
}

TEST(Learner, WhatIsTakenOnTrustIsComparedInTheEndThoughRanksAreLate) {
  for (const int late_each : {2, 3, 7, 11}) {
    const Result result = run({.costs = {0.80, 0.70},
                               .noise = 0.02,
                               .calls = 5000,
                               .known = modelled,
                               .least = 0.69,
                               .late_each = late_each});
    EXPECT_GT(times_used(result, 1, 0, 5000), 100) << late_each;
  }
}

TEST(Learner, WhereTheNetworkAllowsMoreThereIsADuel) {
  const std::vector<double> costs{1.4, 0.7};
  const Result result = run({.costs = costs, .calls = 100, .known = modelled, .least = 0.69});
  EXPECT_EQ(result.used[0], 0);
  EXPECT_GE(times_used(result, 1, 0, 100), 96);
  // A call that takes less than the network allows shows that the model is wrong.
  const Result faster = run({.costs = {0.5, 0.3}, .calls = 100, .known = modelled, .least = 0.69});
  EXPECT_GE(times_used(faster, 1, 0, 100), 96);
}

TEST(Learner, ARankThatComesLateToTheFirstLongCallDecidesNothing) {
  Job job{.costs = {0.7, 4.9}, .calls = 12, .known = modelled, .least = 0.69};
  job.first_call = 3;
  const Result result = run(job);
  EXPECT_LE(times_used(result, 1, 0, 12), 1);
  EXPECT_EQ(result.used.back(), 0);
}

/// With any costs: if the model is right, the first twelve long calls take little more than by the best way
/// that it knows. If it is wrong, `native` is found, and little more than two calls are lost.
TEST(Learner, TheFirstLongCallsOfAJobDoNotPay) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> exponent(0, std::log(8.0));
  std::normal_distribution<double> error(0, 0.03);
  for (unsigned seed = 0; seed < 200; ++seed) {
    const double least = 0.1;
    std::vector<double> costs{least * 1.05, least * std::exp(exponent(random))};
    std::vector<double> by_model{least * 1.05, 0};
    while (costs.size() < ways().size()) {
      costs.push_back(least * 1.05 * std::exp(exponent(random)));
      by_model.push_back(std::max(by_model[0], costs.back() * std::exp(error(random))));
    }
    Job job{.costs = costs,
            .by_model = by_model,
            .noise = 0.02,
            .calls = 100,
            .seed = seed,
            .known = modelled,
            .least = least};
    const Result right = run(job);
    EXPECT_LE(seconds_of(right, costs, 12), 1.1 * 12 * costs[0]) << seed;
    EXPECT_LE(seconds_of(right, costs, 100), 1.1 * 100 * costs[0]) << seed;
    // The model is wrong: its choice takes longer than anything else.
    job.costs[0] = 1.5 * *std::ranges::max_element(costs);
    job.calls = 300;
    const Result wrong = run(job);
    EXPECT_LE(times_used(wrong, 0, 0, 12), 2) << seed;
    EXPECT_LT(seconds_of(wrong, job.costs, 12), 12 * job.costs[1] + 2 * job.costs[0]) << seed;
  }
}

TEST(Learner, SizesThatNeverComeBackDecideNothing) {
  std::vector<std::size_t> sizes;
  for (std::size_t size = 1 << 20; sizes.size() < 1000; size += 1000) sizes.push_back(size);
  const Result result = run({.costs = {0.01, 0.02}, .calls = 1000, .sizes = sizes, .known = presumed});
  EXPECT_FALSE(result.outcome.has_value());
  EXPECT_LT(result.worst_loss, 0.02);
}

TEST(Learner, CallsOfMicrosecondsAreNotWatchedForEver) {
  const Result result = run({.costs = {5e-6, 6e-6}, .agreement = 2e-6, .calls = 3000000});
  EXPECT_TRUE(result.settled);
}

TEST(Learner, HasNothingToDoWithoutCandidates) {
  Learner learner(ways()[0], proven, {});
  EXPECT_TRUE(learner.is_settled());
  EXPECT_FALSE(learner.wants_agreement());
}

TEST(Learner, TimesThatAreNoneDecideNothing) {
  Learner learner(ways()[0], proven, candidates({1, 5, 5}));
  for (int call = 0; call < 3000; ++call) {
    if (learner.wants_agreement()) learner.agree(learner.figures(), 0);
    learner.begin(1);
    learner.end(0);
  }
  EXPECT_FALSE(learner.outcome().has_value());
}

}  // namespace
}  // namespace stretto
