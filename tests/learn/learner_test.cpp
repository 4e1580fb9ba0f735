// SPDX-License-Identifier: Apache-2.0
#include "learn/learner.hpp"

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

/// Specs whose costs a job knows.
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
  std::vector<double> costs;  // seconds a call, by way; the first is the standing choice's
  double noise = 0.05;        // standard deviation of the logarithm of a call's time
  double drift = 0;           // the time of all ways grows and shrinks by so much
  double agreement = 0.0005;
  int calls = 20000;
  unsigned seed = 1;
  std::vector<std::size_t> sizes = {1 << 20};
};

struct Result {
  double worst_loss = -1;  // of the time so far, against the standing choice, at any time
  double final_cost = 0;   // of what is in use at the end
  int trials = 0;          // calls by anything but the standing choice or what was adopted
  std::vector<int> used;   // by call, which way
  std::optional<Learner::Outcome> outcome;
  bool settled = false;
};

constexpr std::size_t ranks = 4;

std::vector<Candidate> candidates(std::size_t count) {
  std::vector<Candidate> all;
  for (std::size_t i = 1; i < count; ++i) all.push_back({.spec = ways()[i], .risk = i == 1 ? 2.0 : 5.0});
  return all;
}

Result run(const Job& job) {
  std::mt19937 random(job.seed);
  std::normal_distribution<double> normal;
  std::vector<Learner> learners(ranks, Learner(ways()[0], candidates(job.costs.size()), 0));
  Result result;
  double now = 0;
  double spent = 0;
  double loss = 0;
  for (int call = 0; call < job.calls; ++call) {
    const bool agrees = learners[0].wants_agreement();
    for (const Learner& learner : learners) EXPECT_EQ(learner.wants_agreement(), agrees);
    if (agrees) {
      Learner::Figures maxima = learners[0].figures(now);
      for (const Learner& learner : learners) {
        const Learner::Figures own = learner.figures(now);
        for (std::size_t i = 0; i < own.size(); ++i) maxima[i] = std::max(maxima[i], own[i]);
      }
      // The ranks measure different times.
      for (std::size_t rank = 0; rank < ranks; ++rank) {
        learners[rank].agree(maxima, job.agreement * (1 + static_cast<double>(rank)));
      }
      loss += job.agreement;
      spent += job.agreement;
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
    const double cost = job.costs[static_cast<std::size_t>(way)] * scale;
    double slowest = 0;
    const double common = std::exp(job.noise * normal(random));
    for (Learner& learner : learners) {
      const double seconds = cost * common * std::exp(job.noise / 5 * normal(random));
      slowest = std::max(slowest, seconds);
      learner.end(seconds);
    }
    now += slowest;
    spent += cost;
    loss += cost - job.costs[0] * scale;
    if (call >= 100) result.worst_loss = std::max(result.worst_loss, loss / spent);
    result.used.push_back(static_cast<int>(way));
  }
  result.outcome = learners[0].outcome();
  result.settled = learners[0].is_settled();
  result.final_cost = job.costs[static_cast<std::size_t>(result.used.back())];
  return result;
}

TEST(Learner, AdoptsWhatIsPlainlyFaster) {
  const Result result = run({.costs = {0.01, 0.012, 0.011, 0.015, 0.006, 0.03}});
  ASSERT_TRUE(result.outcome.has_value());
  EXPECT_EQ(to_string(result.outcome->spec), "rabenseifner");
  EXPECT_NEAR(result.outcome->gain, 2, 0.1);
  EXPECT_GT(result.outcome->seconds, 0);
  EXPECT_TRUE(result.settled);
  EXPECT_LT(result.worst_loss, 0.02);
  EXPECT_EQ(result.used.back(), 4);
}

TEST(Learner, KeepsTheStandingChoiceWhereNothingIsFaster) {
  const Result result = run({.costs = {0.01, 0.01, 0.0101, 0.013, 0.1, 0.0125}});
  EXPECT_FALSE(result.outcome.has_value());
  EXPECT_TRUE(result.settled);
  EXPECT_EQ(result.used.back(), 0);
  EXPECT_LT(result.worst_loss, 0.02);
}

TEST(Learner, GoesBackToTheLibrary) {
  const Result result = run({.costs = {0.01, 0.009}, .calls = 2000});
  ASSERT_TRUE(result.outcome.has_value());
  EXPECT_TRUE(result.outcome->spec.is_pass_through());
}

/// With any costs: the loss is bounded at any time, and the final choice is close to the best.
void check_random_jobs(double noise, double drift, double near, double slowest, unsigned first_seed) {
  std::mt19937 random(first_seed);
  std::uniform_real_distribution<double> exponent(-0.7, std::log(slowest));
  int far_from_best = 0;
  constexpr int jobs = 40;
  for (int job = 0; job < jobs; ++job) {
    std::vector<double> costs{0.01};
    while (costs.size() < ways().size()) costs.push_back(0.01 * std::exp(exponent(random)));
    // A trial of the library loses nothing against the library; against the standing choice, its risk.
    costs[1] = std::min(costs[1], 0.03);
    const Result result = run(
        {.costs = costs, .noise = noise, .drift = drift, .seed = first_seed + static_cast<unsigned>(job)});
    EXPECT_LT(result.worst_loss, 0.02) << "job " << job;
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
  check_random_jobs(0.3, 0, 1.35, 4, 300);
}

TEST(Learner, BoundsItsLossWhereTimesDrift) {
  check_random_jobs(0.1, 0.5, 1.1, 4, 400);
}

TEST(Learner, TrialsAreRare) {
  const Result result = run({.costs = {0.01, 0.01, 0.01, 0.01, 0.01, 0.01}, .calls = 5000});
  for (std::size_t call = 0; call + Learner::spacing <= result.used.size(); ++call) {
    const auto from = result.used.begin() + static_cast<std::ptrdiff_t>(call);
    EXPECT_LE(std::count_if(from, from + Learner::spacing, [](int way) { return way != 0; }), 1);
  }
}

TEST(Learner, ComparesCallsOfOneSize) {
  // The sizes differ more than inside a class; the compared calls have the same size.
  const Result result =
      run({.costs = {0.01, 0.02, 0.006}, .sizes = {1 << 20, 1 << 16, 1 << 18, 1 << 16, 1 << 18}});
  ASSERT_TRUE(result.outcome.has_value());
  EXPECT_EQ(to_string(result.outcome->spec), "ring:segment_bytes=64KiB");
  EXPECT_NEAR(result.outcome->gain, 2 / 0.6, 0.4);
}

TEST(Learner, EndsAfterItsTime) {
  Learner learner(ways()[0], candidates(3), 0);
  int agreements = 0;
  for (int call = 0; call < 1000; ++call) {
    if (learner.wants_agreement()) {
      ++agreements;
      learner.agree(learner.figures(Learner::longest + 1), 0);
    }
    EXPECT_EQ(learner.begin(1), nullptr);
    learner.end(1);
  }
  EXPECT_EQ(agreements, 1);
  EXPECT_TRUE(learner.is_settled());
}

TEST(Learner, HasNothingToDoWithoutCandidates) {
  Learner learner(ways()[0], {}, 0);
  EXPECT_TRUE(learner.is_settled());
  EXPECT_FALSE(learner.wants_agreement());
}

TEST(Learner, TimesThatAreNoneDecideNothing) {
  Learner learner(ways()[0], candidates(3), 0);
  for (int call = 0; call < 3000; ++call) {
    if (learner.wants_agreement()) learner.agree(learner.figures(0), 0);
    learner.begin(1);
    learner.end(0);
  }
  EXPECT_FALSE(learner.outcome().has_value());
}

}  // namespace
}  // namespace stretto
