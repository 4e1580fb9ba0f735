// SPDX-License-Identifier: Apache-2.0
// The trials of a learner: one call by a candidate between two by the incumbent.
#include <algorithm>
#include <cmath>

#include "learn/races/learner.hpp"
#include "learn/races/samples.hpp"

namespace stretto {
namespace {

/// A candidate must be faster by this share to be adopted. One that is slower by less is not worth a row.
constexpr double margin = 0.02;
/// The first trial of a candidate includes the cost of new schedules and connections. It only shows which
/// candidates are hopeless.
constexpr double hopeless_at_first = 8;
constexpr double hopeless = 2;
constexpr std::size_t enough_to_be_slower = 3;
constexpr std::size_t most_ratios = 64;
/// The error probability on one side of the interval. It is checked many times, and a slower spec would cost
/// time in each call.
constexpr double error_of_adopting = 0.001;
constexpr double error_of_dropping = 0.01;
/// Shorter calls are not watched: their own measurement would take too much of their time.
constexpr double least_watched_seconds = 20e-6;
/// Of calls that are not watched, this is the last one.
constexpr std::uint64_t last_rematch = 4 * Learner::first_rematch;

/// The interval of the median of n samples begins and ends this many order statistics from either end: the
/// largest k with P(Binomial(n, 1/2) < k) not above `error`, on one side; 0 if there is none.
std::size_t interval_order(std::size_t n, double error) {
  double term = std::pow(0.5, static_cast<double>(n));
  double below = 0;
  std::size_t k = 0;
  while (below + term <= error && 2 * k < n) {
    below += term;
    term *= static_cast<double>(n - k) / static_cast<double>(k + 1);
    ++k;
  }
  return k;
}

}  // namespace

Learner::Verdict Learner::judge(double reference, double trial) {
  const double loss = std::max(trial - reference, 0.0);
  ledger_.lose(loss);
  Arm& arm = arms_[waiting_.front()];
  arm.lost += loss;
  if (!(reference > 0)) return Verdict::open;
  const double ratio = trial / reference;
  if (++arm.trials == 1) return ratio > hopeless_at_first ? Verdict::no_better : Verdict::open;
  std::vector<double>& ratios = arm.ratios;
  ratios.push_back(ratio);
  std::ranges::sort(ratios);
  const bool native = is_native(waiting_.front());
  // The time of the library tells the gain.
  if (ratios.size() == 1 && ratio > hopeless && !native) return Verdict::no_better;
  if (ratios.size() >= enough_to_be_slower && ratios.front() > slower_each_time) return Verdict::no_better;
  // The library itself need not be faster by more than noise: Stretto's choice must never be slower.
  const double enough = native ? 1 : 1 - margin;
  const std::size_t high = interval_order(ratios.size(), error_of_adopting);
  if (high > 0 && ratios[ratios.size() - high] < enough) return Verdict::better;
  const std::size_t low = interval_order(ratios.size(), error_of_dropping);
  if (low > 0 && ratios[low - 1] > 1 - margin) return Verdict::no_better;
  return ratios.size() >= most_ratios ? Verdict::no_better : Verdict::open;
}

/// Makes the candidate the incumbent. The old incumbent is tried against it next, with fresh figures: those
/// that led to the adoption were the luckiest of many. If the old one wins, the adoption was a mistake, and
/// the candidate is not tried again.
void Learner::adopt(std::size_t arm) {
  const std::size_t old = incumbent_;
  const bool comes_back = arms_[arm].was_incumbent;
  incumbent_ = arm;
  arms_[arm].was_incumbent = true;
  gain_ = 0;
  is_measured_ = has_news_ = true;
  decided_seconds_ = 0;
  watch_.forget();
  waiting_.pop_front();
  if (comes_back) return;
  const auto try_again = [&](Arm& again, double lost_each_time) {
    again.ratios.clear();
    again.trials = enough_to_be_known;
    again.lost = enough_to_be_known * lost_each_time;
  };
  try_again(arms_[old], std::max(1 / median(arms_[arm].ratios) - 1, 0.0) * ledger_.call());
  waiting_.push_front(old);
  // The gain is relative to the library.
  for (std::size_t other = 0; other < arms_.size(); ++other) {
    if (!is_native(other) || std::ranges::find(waiting_, other) != waiting_.end() || other == arm) continue;
    try_again(arms_[other], arms_[other].lost / std::max(arms_[other].trials, 1));
    waiting_.push_back(other);
  }
}

void Learner::drop() {
  const std::size_t arm = waiting_.front();
  const std::vector<double>& ratios = arms_[arm].ratios;
  if (is_native(arm) && ratios.size() >= enough_to_be_slower) gain_ = median(ratios);
  waiting_.pop_front();
}

/// Sets when the next trial is allowed, or when to find out.
void Learner::plan() {
  pair_at_ = 0;
  next_agreement_ = 0;
  if (next_watch_ == 0) next_watch_ = calls_ + least_watch;
  if (waiting_.empty() || elapsed_ > trials_end_) {
    waiting_.clear();
    is_settled_ = ledger_.call() < least_watched_seconds && (has_trials_ || rematch_after_ > last_rematch);
    return;
  }
  const Arm& arm = arms_[waiting_.front()];
  // The first trial is too slow, since it includes set-up, and another one may have been lucky.
  const double call = ledger_.call();
  const double loss = arm.trials < enough_to_be_known ? arm.risk * call : 2 * arm.lost / arm.trials;
  const double needed = (ledger_.lost() + loss + 2 * ledger_.agreement()) / share;
  const double calls = call > 0 ? std::ceil((needed - ledger_.seconds()) / call) : 0;
  // The expected time of the calls until then counts as known, but for at most as many calls as there were:
  // an agreement on it might take longer than the trial.
  const auto known = static_cast<double>(calls_);
  if (calls > known) {
    next_agreement_ = 2 * calls_;
    return;
  }
  pair_at_ = std::max(calls_ + 1 + static_cast<std::uint64_t>(std::max(calls, 0.0)), pair_began_ + spacing);
}

std::size_t Learner::begin_trial_call(std::size_t bytes) {
  if (pair_at_ != 0 && calls_ >= pair_at_) {
    if (last_ == Role::none || calls_ > pair_began_ + most_calls_for_pair) {
      // A trial without a call after it is compared with the one before it.
      if (last_ == Role::trial) {
        last_ = Role::after;
      } else {
        current_ = last_ = Role::before;
        pair_began_ = calls_;
        pair_bytes_ = bytes;
      }
    } else if (bytes == pair_bytes_ && last_ != Role::after) {
      current_ = last_ = last_ == Role::before ? Role::trial : Role::after;
    }
  }
  return current_ == Role::trial ? waiting_.front() : incumbent_;
}

}  // namespace stretto
