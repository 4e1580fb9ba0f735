// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <functional>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bench/calibration/common/records.hpp"
#include "bench/calibration/common/site.hpp"
#include "bench/calibration/common/team.hpp"
#include "bench/calibration/common/waiting.hpp"
#include "threads/clock.hpp"

namespace stretto::bench {

/// Measures one kind of figure of a cluster. All phases run in turn, more than once, so that a disturbance
/// of some seconds does not spoil one kind of figure as a whole.
class Phase {
 public:
  /// `on_progress` is called now and then, on rank 0 only.
  using OnProgress = std::function<void()>;

  Phase(Site& site, OnProgress on_progress) : site_(site), on_progress_(std::move(on_progress)) {}
  virtual ~Phase() = default;
  Phase(const Phase&) = delete;
  Phase& operator=(const Phase&) = delete;
  Phase(Phase&&) = delete;
  Phase& operator=(Phase&&) = delete;

  /// The phase's share of the time, relative to the others.
  virtual double weight() const = 0;
  /// Collective over MPI_COMM_WORLD. Measures for about `seconds`, but takes at least a few samples of each
  /// case.
  virtual void measure(double seconds, int pass) = 0;

 protected:
  void report_progress() const {
    if (on_progress_) on_progress_();
  }
  const OnProgress& on_progress() const { return on_progress_; }
  Site& site() { return site_; }
  const Site& site() const { return site_; }
  Records& records() { return records_; }

  /// Puts cases into another order in each round.
  template <typename Case>
  void shuffle(std::vector<Case>& cases) {
    std::shuffle(cases.begin(), cases.end(), random_);
  }

  /// Takes all cases once per round, in shuffled order, for about `seconds`. Collective.
  template <typename Case, typename Take>
  void take_in_rounds(std::vector<Case>& cases, double seconds, int least, int most, const Take& take) {
    const double begin = seconds_now();
    for (int round = 0; round < most; ++round) {
      shuffle(cases);
      for (const Case& one : cases) {
        take(one);
        report_progress();
      }
      const double elapsed = meet({site_.rank == 0 ? seconds_now() - begin : 0.0})[0];
      if (round + 1 >= least && elapsed * (round + 2) / (round + 1) > seconds) break;
    }
  }

 private:
  Site& site_;
  OnProgress on_progress_;
  Records records_;
  std::mt19937_64 random_{1};
};

/// A phase in which a team measures while the other ranks sleep.
class TeamPhase : public Phase {
 public:
  TeamPhase(Site& site, OnProgress on_progress, std::vector<int> ranks)
      : Phase(site, std::move(on_progress)), team_(std::move(ranks), this->site().rank) {}

  void measure(double seconds, int pass) final;

 protected:
  /// Collective, called before the leader measures.
  virtual void prepare(double /*seconds*/, int /*pass*/) {}
  /// Called on the team's leader.
  virtual void lead(double seconds, int pass) = 0;
  /// On the leader, findings() returns the findings that all ranks must know; learn() gets them on all ranks.
  /// No value may be below 0.
  virtual std::vector<double> findings() const { return {0.0}; }
  virtual void learn(const std::vector<double>& /*findings*/) {}
  Team& team() { return team_; }
  const Team& team() const { return team_; }

  /// For the leader: takes the cases from 0 on, once per round, in shuffled order, until another round would
  /// end after `end`.
  template <typename Take>
  void take_until(double end, std::size_t cases, int least, int most, const Take& take) {
    std::vector<std::size_t> order(cases);
    std::iota(order.begin(), order.end(), std::size_t{0});
    for (int round = 0; round < most; ++round) {
      const double begin = seconds_now();
      shuffle(order);
      for (const std::size_t number : order) take(number);
      const double now = seconds_now();
      if (round + 1 >= least && now + (now - begin) > end) return;
    }
  }

 private:
  Team team_;
};

/// A phase of a team that measures messages of a level.
class LevelPhase : public TeamPhase {
 public:
  LevelPhase(Site& site, std::size_t level, OnProgress on_progress)
      : LevelPhase(site, level, std::move(on_progress), site.levels[level].pair) {}
  LevelPhase(Site& site, std::size_t level, OnProgress on_progress, std::vector<int> ranks)
      : TeamPhase(site, std::move(on_progress), std::move(ranks)), level_(site.levels[level]) {}

 protected:
  Level& level() { return level_; }
  const Level& level() const { return level_; }

 private:
  Level& level_;
};

/// The time is too short even for a few samples of short messages.
class BudgetError : public std::runtime_error {
 public:
  BudgetError(const std::string& what, double needed) : std::runtime_error(what), needed_(needed) {}
  /// The time needed, as a multiple of the time given.
  double needed() const { return needed_; }

 private:
  double needed_;
};

void sleep(double seconds);

}  // namespace stretto::bench
