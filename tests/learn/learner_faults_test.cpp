// SPDX-License-Identifier: Apache-2.0
// The guard's learners under disturbances: the network changes, a rank is late, a clock jumps.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <vector>

#include "learn/races/learner.hpp"

namespace stretto {
namespace {

constexpr std::size_t ranks = 3;
constexpr std::size_t bytes = 1 << 20;

const std::vector<Spec>& ways() {
  static const std::vector<Spec> all{parse_spec(Collective::allreduce, "native"),
                                     parse_spec(Collective::allreduce, "ring:segment_bytes=64KiB"),
                                     parse_spec(Collective::allreduce, "rabenseifner"),
                                     parse_spec(Collective::allreduce, "recursive_doubling")};
  return all;
}

std::size_t way_of(const Spec& spec) {
  return static_cast<std::size_t>(std::ranges::find(ways(), spec) - ways().begin());
}

/// The seconds of a call, by way. A model of the network knows them, except for `native`.
using Costs = std::vector<double>;

/// Returns a learner as the guard makes it: with the two specs that the model expects to be fastest, and
/// `native`.
Learner learner_for(const Costs& costs) {
  std::vector<std::size_t> order{1, 2, 3};
  std::ranges::sort(order, {}, [&](std::size_t way) { return costs[way]; });
  const double expected = costs[order[1]] / costs[order[0]];
  const std::vector<Candidate> others{{.spec = ways()[0]}, {.spec = ways()[order[1]], .expected = expected}};
  return {ways()[order[0]], Learner::Standing::modelled, others};
}

/// Returns the time that a rank measures for a call that takes `cost`.
using Clock = std::function<double(int call, std::size_t rank, double cost)>;

/// Returns the maxima on a rank. Ranks combine in different orders, so the maxima differ if there is a NaN.
std::vector<double> maxima_on(std::size_t rank, const std::vector<std::vector<double>>& all) {
  std::vector<double> maxima = all[rank];
  for (std::size_t i = 1; i < ranks; ++i) {
    const std::vector<double>& other = all[(rank + i) % ranks];
    for (std::size_t k = 0; k < maxima.size(); ++k) maxima[k] = maxima[k] > other[k] ? maxima[k] : other[k];
  }
  return maxima;
}

/// A job of several ranks that calls the same collective again and again.
class Job {
 public:
  explicit Job(Costs costs) : costs_(std::move(costs)) {
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      learners_.push_back(learner_for(costs_));
      known_.push_back(best_modelled());
    }
  }

  void change(const Costs& costs) { costs_ = costs; }

  /// Returns the ways of so many calls. All ranks must agree on each of them, and in the same calls.
  std::vector<std::size_t> call(int count, const Clock& clock) {
    std::vector<std::size_t> used;
    for (int i = 0; i < count; ++i, ++call_) {
      agree(clock);
      std::vector<std::size_t> chosen;
      for (std::size_t rank = 0; rank < ranks; ++rank) {
        const Spec* spec = learners_[rank].begin(bytes);
        chosen.push_back(spec == nullptr ? known_[rank] : way_of(*spec));
      }
      EXPECT_EQ(chosen, std::vector(ranks, chosen[0])) << "call " << call_;
      for (std::size_t rank = 0; rank < ranks; ++rank) {
        learners_[rank].end(clock(call_, rank, costs_[chosen[0]]));
      }
      used.push_back(chosen[0]);
    }
    return used;
  }

  [[nodiscard]] int changes() const { return changes_; }
  [[nodiscard]] int agreements() const { return agreements_; }
  [[nodiscard]] std::optional<Learner::Outcome> outcome() const { return learners_[0].outcome(); }

 private:
  [[nodiscard]] std::size_t best_modelled() const {
    return static_cast<std::size_t>(std::min_element(costs_.begin() + 1, costs_.end()) - costs_.begin());
  }

  void agree(const Clock& clock) {
    const bool wants = learners_[0].wants_agreement();
    for (const Learner& learner : learners_) EXPECT_EQ(learner.wants_agreement(), wants) << "call " << call_;
    if (!wants) return;
    ++agreements_;
    std::vector<std::vector<double>> figures;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      figures.push_back(learners_[rank].figures());
    }
    std::vector<bool> changed;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      learners_[rank].agree(maxima_on(rank, figures), clock(call_, rank, 20e-6));
      changed.push_back(learners_[rank].take_change());
    }
    EXPECT_EQ(changed, std::vector(ranks, bool{changed[0]})) << "call " << call_;
    if (!changed[0]) return;
    // The ranks measure the network anew.
    ++changes_;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      Learner again = learner_for(costs_);
      again.take_over_losses(learners_[rank]);
      learners_[rank] = again;
      known_[rank] = best_modelled();
    }
  }

  Costs costs_;
  std::vector<Learner> learners_;
  std::vector<std::size_t> known_;
  int call_ = 0;
  int changes_ = 0;
  int agreements_ = 0;
};

Clock noisy_clock(unsigned seed, double noise) {
  return [random = std::mt19937(seed), normal = std::normal_distribution<double>(), noise](
             int /*call*/, std::size_t /*rank*/, double cost) mutable {
    return cost * std::exp(noise * normal(random));
  };
}

double exact(int /*call*/, std::size_t /*rank*/, double cost) {
  return cost;
}

int count(const std::vector<std::size_t>& used, std::size_t way) {
  return static_cast<int>(std::ranges::count(used, way));
}

/// Another spec is best before and after the network has become four times slower: native, the model's first,
/// or one that was not tried before.
TEST(LearnerFaults, AfterAChangeOfTheNetworkTheChoiceIsRightWithinFiftyCalls) {
  const std::vector<std::pair<Costs, Costs>> changes{
      {{0.010, 0.020, 0.025, 0.040}, {0.080, 0.040, 0.050, 0.160}},  // native, then the ring
      {{0.020, 0.010, 0.018, 0.040}, {0.040, 0.080, 0.090, 0.160}},  // the ring, then native
      {{0.020, 0.010, 0.018, 0.040}, {0.090, 0.080, 0.100, 0.040}},  // the ring, then one that was not tried
      {{0.040, 0.080, 0.090, 0.160}, {0.020, 0.010, 0.018, 0.040}},  // it becomes faster
  };
  for (const auto& [before, after] : changes) {
    const auto best = static_cast<std::size_t>(std::ranges::min_element(after) - after.begin());
    int jobs = 0;
    int late = 0;
    // The late calls are anywhere between two agreements, and before, in and after a rematch.
    for (int first = 80; first < 1100; first += first == 300 ? 700 : 1) {
      const Clock clock = noisy_clock(static_cast<unsigned>(first), 0.03);
      Job job(before);
      job.call(first, clock);
      job.change(after);
      job.call(50, clock);
      // A rematch may take a few more calls.
      const bool is_right = count(job.call(20, clock), best) >= 16;
      // If duels have just lost much time, the next duel must wait a little.
      if (first >= 200) {
        ++jobs;
        late += is_right ? 0 : 1;
      }
      job.call(130, clock);
      EXPECT_EQ(job.changes(), 1) << first;
      EXPECT_GE(count(job.call(100, clock), best), 90) << "to " << best << " after " << first;
    }
    EXPECT_LE(late, jobs / 20) << "to " << best;
  }
}

/// If all ways become slower alike, the choice stays.
TEST(LearnerFaults, WhereAllBecomesSlowerAlikeTheChoiceStays) {
  const Clock clock = noisy_clock(1, 0.03);
  Job job({0.020, 0.010, 0.018, 0.040});
  job.call(1000, clock);
  job.change({0.080, 0.040, 0.072, 0.160});
  job.call(50, clock);
  EXPECT_GE(count(job.call(200, clock), 1), 190);
}

/// One duel after the other leaves no time to measure calls in a row. The first such measurement comes before
/// the first rematch, so a change after that rematch is noticed. An earlier change, also between two duels,
/// is noticed as well: calls take another time than in the last duel, and so do its turns when they are
/// repeated. A single late call before the change hides it from none of these.
TEST(LearnerFaults, AChangeIsNoticedThoughManyDuelsCameBeforeIt) {
  const auto learner_now = [] {
    std::vector<Candidate> others{{.spec = ways()[0]}};
    for (const char* text : {"ring", "ring:segment_bytes=16KiB", "ring:segment_bytes=256KiB", "rabenseifner"})
      others.push_back({.spec = parse_spec(Collective::allreduce, text), .expected = 1.02});
    Learner learner(ways()[1], Learner::Standing::modelled, others);
    learner.expect_saved(0);
    return learner;
  };
  int jobs = 0;
  int missed = 0;
  for (int first = 20; first < 200; ++first) {
    // The late call comes so many calls before the change; 0: there is none.
    for (int late = 0; late < 20; ++late) {
      Learner learner = learner_now();
      const Clock clock = noisy_clock(static_cast<unsigned>(first), 0.01);
      int left = first - late;
      const auto noticed = [&](int calls, double cost) {
        for (int call = 0; call < calls; ++call) {
          if (learner.wants_agreement()) learner.agree(learner.figures(), 20e-6);
          if (learner.take_change()) return true;
          const Spec* spec = learner.begin(bytes);
          const bool is_native = spec != nullptr && spec->is_pass_through();
          const bool is_best = spec == nullptr || *spec == ways()[1];
          const double times = (is_native ? 1.25 : is_best ? 1 : 1.4) * (late > 0 && left-- == 0 ? 5 : 1);
          learner.end(clock(call, 0, cost * times));
        }
        return false;
      };
      EXPECT_FALSE(noticed(first, 0.014)) << first << ", late " << late;
      ++jobs;
      missed += noticed(96, 0.058) ? 0 : 1;
    }
  }
  EXPECT_EQ(missed, 0) << "of " << jobs;
}

/// A rank sleeps a second in every tenth call; the others wait for it.
TEST(LearnerFaults, ARankThatSleepsInEveryTenthCallDecidesNothing) {
  for (int phase = 0; phase < 10; ++phase) {
    for (const Costs& costs : {Costs{0.020, 0.010, 0.018, 0.040}, Costs{0.010, 0.020, 0.018, 0.040}}) {
      const auto best = static_cast<std::size_t>(std::ranges::min_element(costs) - costs.begin());
      Clock noisy = noisy_clock(static_cast<unsigned>(phase), 0.03);
      Job job(costs);
      const auto used = job.call(2000, [&](int call, std::size_t rank, double cost) {
        return noisy(call, rank, cost) + (call % 10 == phase && rank != 0 ? 1 : 0);
      });
      EXPECT_GE(count(used, best), 1900) << phase;
      EXPECT_EQ(used.back(), best) << phase;
      EXPECT_EQ(job.changes(), 0) << phase;
    }
  }
}

/// Some clocks are wrong in some calls. All ranks decide alike, and the time that they keep is valid.
TEST(LearnerFaults, ClocksThatJumpDoNotDivideTheRanks) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  constexpr double infinite = std::numeric_limits<double>::infinity();
  for (const double wrong : {0.0, -0.01, -1e9, nan, -nan, infinite, -infinite, 1e300}) {
    for (const int each : {1, 2, 3, 7}) {
      for (std::size_t wrong_ranks = 1; wrong_ranks <= ranks; ++wrong_ranks) {
        Job job({0.020, 0.010, 0.018, 0.040});
        job.call(500, [&](int call, std::size_t rank, double cost) {
          return rank < wrong_ranks && call % each == 0 ? wrong : cost;
        });
        EXPECT_GT(job.agreements(), 0);
        if (const auto outcome = job.outcome()) {
          EXPECT_TRUE(std::isfinite(outcome->call_seconds) && outcome->call_seconds >= 0) << wrong;
          EXPECT_LT(outcome->call_seconds, 100) << wrong;
          EXPECT_TRUE(std::isfinite(outcome->gain) && outcome->gain >= 0) << wrong;
        }
        if (each < 3) continue;
        // If most times are right, a change of the network is noticed.
        job.change({0.080, 0.160, 0.072, 0.040});
        job.call(200, exact);
        EXPECT_GE(count(job.call(200, exact), 3), 190) << wrong << " in each " << each;
      }
    }
  }
}

/// Returns the seconds of a call by rank, while rank 1 comes late. A spec for a late rank reduces before rank
/// 1 comes.
std::vector<double> seconds_beside_late(bool is_for_late, double late) {
  const double others = is_for_late ? std::max(late, 0.0086) + 0.0057 : late + 0.010;
  const double of_late = is_for_late ? others - late : 0.010;
  return {others, of_late, others};
}

/// A spec for a late rank is in force until the first look that finds the rank on time. It is not kept for
/// other jobs.
TEST(LearnerFaults, WhatIsForALateRankIsInForceWhileItIsLate) {
  const Spec for_late = parse_spec(Collective::allreduce, "pre_reduced_ring:late=1");
  std::vector<Learner> learners(ranks, learner_for({0.030, 0.010, 0.018, 0.040}));
  for (std::size_t rank = 0; rank < ranks; ++rank) learners[rank].know_rank(static_cast<int>(rank));
  Clock noise = noisy_clock(3, 0.02);
  int number = 0;
  const auto call = [&](int calls, double late) {
    int used = 0;
    for (int i = 0; i < calls; ++i, ++number) {
      if (learners[0].wants_agreement()) {
        std::vector<std::vector<double>> figures;
        for (const Learner& learner : learners) figures.push_back(learner.figures());
        const std::vector<double> agreed = maxima_on(0, figures);
        for (Learner& learner : learners) {
          learner.agree(agreed, 20e-6);
          EXPECT_FALSE(learner.take_change());
          if (const auto news = learner.take_news()) {
            EXPECT_NE(news->spec, for_late);
          }
          const auto found = learner.take_late();
          if (!found) continue;
          EXPECT_EQ(found->rank, 1);
          learner.challenge_for_late(for_late, 0.9);
        }
      }
      for (std::size_t rank = 0; rank < ranks; ++rank) {
        const Spec* spec = learners[rank].begin(bytes);
        const bool is_for_late = spec != nullptr && *spec == for_late;
        const double slower = spec == nullptr || is_for_late ? 1 : *spec == ways()[0] ? 3 : 1.8;
        learners[rank].end(noise(number, rank, slower * seconds_beside_late(is_for_late, late)[rank]));
        used += is_for_late && rank == 0 ? 1 : 0;
      }
    }
    return used;
  };
  EXPECT_EQ(call(300, 0), 0) << "nobody is late";
  EXPECT_GE(call(300, 0.005), 150);
  EXPECT_GE(call(100, 0.005), 90);
  call(20, 0);
  EXPECT_EQ(call(300, 0), 0) << "nobody is late any more";
  EXPECT_GE(call(300, 0.005), 100) << "it is late again";
}

/// Each call may have a new size, and no size comes back: nothing can be compared, and nothing hangs.
TEST(LearnerFaults, ADuelThatNeverEndsIsNoLoss) {
  Learner learner = learner_for({0.020, 0.010, 0.018, 0.040});
  int challenged = 0;
  for (int call = 0; call < 2000; ++call) {
    if (learner.wants_agreement()) learner.agree(learner.figures(), 1e-6);
    const Spec* spec = learner.begin(bytes + static_cast<std::size_t>(call));
    challenged += spec == nullptr ? 1 : 0;
    learner.end(0.01);
  }
  EXPECT_FALSE(learner.outcome().has_value());
  EXPECT_LT(challenged, 2000 / 32);
}

}  // namespace
}  // namespace stretto
