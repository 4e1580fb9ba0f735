// SPDX-License-Identifier: Apache-2.0
#include "learn/learner.hpp"

#include <algorithm>
#include <cmath>

namespace stretto {
namespace {

/// Calls before the first agreement: the first ones open connections.
constexpr std::uint64_t warm_up = 32;
/// The time of a recent call is measured over at least this many calls.
constexpr std::uint64_t recent_calls = 16;
/// A pair that is incomplete after this many calls, because they have other sizes, is given up.
constexpr std::uint64_t most_calls_for_pair = 64;
/// A candidate must be faster by this share to be adopted. One that is slower by less is not worth a row.
constexpr double margin = 0.02;
/// The first trial of a candidate includes the cost of new schedules and connections. It only shows which
/// candidates are hopeless.
constexpr double hopeless_at_first = 8;
constexpr double hopeless = 2;
constexpr double slower_each_time = 1.1;
constexpr std::size_t enough_to_be_slower = 3;
constexpr int enough_to_be_known = 3;
constexpr std::size_t most_ratios = 64;
/// The error probability on one side of the interval. It is checked many times, and a slower spec would cost
/// time in each call.
constexpr double error_of_adopting = 0.001;
constexpr double error_of_dropping = 0.01;

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

double median(std::vector<double> samples) {
  const auto middle = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
  std::nth_element(samples.begin(), middle, samples.end());
  return *middle;
}

}  // namespace

Learner::Learner(const Spec& standing, const std::vector<Candidate>& candidates, double now)
    : next_agreement_(warm_up), began_(now) {
  arms_.push_back({.spec = standing, .risk = 0, .trials = 0, .lost = 0, .ratios = {}, .was_incumbent = true});
  for (const Candidate& candidate : candidates) {
    waiting_.push_back(arms_.size());
    arms_.push_back({.spec = candidate.spec, .risk = candidate.risk, .trials = 0, .lost = 0, .ratios = {}});
  }
  is_settled_ = waiting_.empty();
}

bool Learner::wants_agreement() const {
  return !is_settled_ && (last_ == Role::after || (next_agreement_ != 0 && calls_ >= next_agreement_));
}

Learner::Figures Learner::figures(double now) const {
  // The rank that comes last to an agreement measures its real time; the others wait for that rank, and
  // would have waited in the next call as well. So the minimum counts.
  return {sum_, pair_[0], pair_[1], pair_[2], -own_agreement_, now - began_};
}

void Learner::agree(const Figures& maxima, double seconds) {
  const auto& [sum, before, trial, after, minus_agreement, elapsed] = maxima;
  agreed_ += sum;
  recent_seconds_ += sum;
  if (calls_ >= recent_since_ + recent_calls) {
    call_ = recent_seconds_ / static_cast<double>(calls_ - recent_since_);
    recent_since_ = calls_;
    recent_seconds_ = 0;
  }
  // The call that has just ended is counted with the next ones.
  const double agreement = std::max(-minus_agreement, 0.0);
  lost_ += agreement;
  agreements_lost_ += agreement;
  agreement_ = agreements_lost_ / static_cast<double>(++agreements_);
  elapsed_ = elapsed;
  if (last_ == Role::after) {
    const std::size_t arm = waiting_.front();
    switch (judge(after > 0 ? (before + after) / 2 : before, trial)) {
      case Verdict::better:
        adopt(arm);
        break;
      case Verdict::no_better:
        drop();
        break;
      case Verdict::open:
        break;
    }
    last_ = Role::none;
  }
  sum_ = 0;
  pair_ = {};
  own_agreement_ = seconds;
  plan();
}

Learner::Verdict Learner::judge(double reference, double trial) {
  const double loss = std::max(trial - reference, 0.0);
  lost_ += loss;
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
  waiting_.pop_front();
  if (comes_back) return;
  const auto try_again = [&](Arm& again, double lost_each_time) {
    again.ratios.clear();
    again.trials = enough_to_be_known;
    again.lost = enough_to_be_known * lost_each_time;
  };
  try_again(arms_[old], std::max(1 / median(arms_[arm].ratios) - 1, 0.0) * call_);
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
  if (waiting_.empty() || elapsed_ > longest) {
    is_settled_ = true;
    return;
  }
  const Arm& arm = arms_[waiting_.front()];
  // The first trial is too slow, since it includes set-up, and another one may have been lucky.
  const double loss = arm.trials < enough_to_be_known ? arm.risk * call_ : 2 * arm.lost / arm.trials;
  const double needed = (lost_ + loss + 2 * agreement_) / share;
  const double calls = call_ > 0 ? std::ceil((needed - agreed_) / call_) : 0;
  // The expected time of the calls until then counts as known, but for at most as many calls as there were:
  // an agreement on it might take longer than the trial.
  const auto known = static_cast<double>(calls_);
  if (calls > known) {
    next_agreement_ = 2 * calls_;
    return;
  }
  pair_at_ = std::max(calls_ + 1 + static_cast<std::uint64_t>(std::max(calls, 0.0)), pair_began_ + spacing);
}

const Spec* Learner::begin(std::size_t bytes) {
  ++calls_;
  current_ = Role::none;
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
  const std::size_t arm = current_ == Role::trial ? waiting_.front() : incumbent_;
  return arm == 0 ? nullptr : &arms_[arm].spec;
}

void Learner::end(double seconds) {
  if (is_settled_) return;
  sum_ += seconds;
  if (current_ != Role::none) pair_[static_cast<std::size_t>(current_) - 1] = seconds;
}

std::optional<Learner::Outcome> Learner::outcome() const {
  if (incumbent_ == 0) return std::nullopt;
  return Outcome{.spec = arms_[incumbent_].spec, .gain = gain_, .seconds = agreed_};
}

}  // namespace stretto
