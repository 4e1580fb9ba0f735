// SPDX-License-Identifier: Apache-2.0
#include "learn/learner.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

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
/// Calls that take so much longer or shorter than before show that the network has changed.
constexpr double other_regime = 1.6;
constexpr int strikes_of_regime = 2;
/// The share of the time of all calls that comparing notes may take.
constexpr double share_of_watch = 0.002;
/// The share that may be lost before another duel begins.
constexpr double share_before_duel = 0.015;
/// Without trials, duels may lose this share of the time of all calls, or of so many at first.
constexpr double share_of_duels = 0.009;
constexpr double first_calls = 200;
/// The share of what was won that may be spent on more duels.
constexpr double share_of_won = 0.25;
/// Calls by a slower challenger in a duel, and how much slower it is thought to be at least.
constexpr double calls_of_slow_challenger = 6;
constexpr double least_excess = 0.25;
/// The same of one that is dropped at once.
constexpr double calls_of_hopeless_challenger = 2;
constexpr double least_hopeless_excess = 0.5;
constexpr double most_agreements = 3;
/// Shorter calls are not watched: their own measurement would take too much of their time.
constexpr double least_watched_seconds = 20e-6;
/// The calls by the rival in a rematch.
constexpr double rematch_calls = 4;
/// Of calls that are not watched, this is the last one.
constexpr std::uint64_t last_rematch = 4 * Learner::first_rematch;
/// What should take so many times as long as the incumbent is not called.
constexpr double worth_a_duel = 3;

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

/// No call takes longer than this.
constexpr double longest_call = 86400;

/// A clock that jumps measures nothing: 0. NaN above all must not get to the other ranks, since each of them
/// would find another maximum.
double measured(double seconds) {
  return seconds > 0 && seconds < longest_call ? seconds : 0;
}

double median(std::vector<double> samples) {
  const auto middle = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
  std::nth_element(samples.begin(), middle, samples.end());
  return *middle;
}

}  // namespace

Learner::Learner(const Spec& standing, Standing known, const std::vector<Candidate>& candidates,
                 Trials trials, double now)
    : has_trials_(trials == Trials::rationed), next_agreement_(warm_up), began_(now) {
  arms_.push_back({.spec = standing, .risk = 0, .trials = 0, .lost = 0, .ratios = {}, .was_incumbent = true});
  for (const Candidate& candidate : candidates) {
    waiting_.push_back(arms_.size());
    arms_.push_back({.spec = candidate.spec, .risk = candidate.risk, .trials = 0, .lost = 0, .ratios = {}});
  }
  is_settled_ = waiting_.empty();
  if (known == Standing::decided || !has_trials_) waiting_.clear();
  if (waiting_.empty()) {
    next_agreement_ = 0;
    next_watch_ = least_watch;
  }
  const std::size_t native = find_native();
  if (known == Standing::decided || native == 0 || native == arms_.size()) return;
  const bool must_show = known != Standing::proven;
  if (must_show) incumbent_ = native;
  if (must_show && !has_trials_) {
    for (std::size_t arm = 1; arm < arms_.size(); ++arm) {
      if (arm != native) challengers_.push_back(arm);
    }
  }
  challenge(must_show ? 0 : native,
            known == Standing::modelled ? Duel::Side::challenger : Duel::Side::defender);
}

/// Returns the number of arms if there is none.
std::size_t Learner::find_native() const {
  std::size_t arm = 0;
  while (arm < arms_.size() && !is_native(arm)) ++arm;
  return arm;
}

bool Learner::wants_agreement() const {
  if (is_settled_) return false;
  if (duel_) return duel_->wants_agreement();
  if (last_ == Role::after) return true;
  if (has_begun_pair()) return false;
  return (next_agreement_ != 0 && calls_ >= next_agreement_) || (next_watch_ != 0 && calls_ >= next_watch_);
}

Learner::Figures Learner::figures(double now) const {
  // The rank that comes last to an agreement measures its real time; the others wait for that rank, and
  // would have waited in the next call as well. So the minimum counts.
  const Recent recent = recent_times();
  const double elapsed = std::isnan(now - began_) ? 0 : now - began_;
  // Those that were not timed took as long as the others.
  const double all_calls =
      timed_ > 0 ? sum_ * static_cast<double>(calls_ - timed_since_) / static_cast<double>(timed_) : 0;
  Figures all{all_calls, pair_[0],    pair_[1],     pair_[2],   -own_agreement_,
              elapsed,   recent.fast, recent.usual, recent.slow};
  if (duel_) std::ranges::copy(duel_->times(), all.end() - Duel::most_times);
  return all;
}

void Learner::agree(const Figures& maxima, double seconds) {
  const auto [sum, before, trial, after, minus_agreement, elapsed] =
      std::to_array({maxima[0], maxima[1], maxima[2], maxima[3], maxima[4], maxima[5]});
  const Recent recent{.fast = maxima[6], .usual = maxima[7], .slow = maxima[8]};
  agreed_ += sum;
  recent_seconds_ += sum;
  if (calls_ >= recent_since_ + recent_calls || !(call_ > 0)) {
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
  sum_ = 0;
  timed_ = 0;
  timed_since_ = calls_;
  own_agreement_ = measured(seconds);
  if (duel_) {
    Duel::Times times{};
    std::copy(maxima.end() - Duel::most_times, maxima.end(), times.begin());
    const Duel::Verdict verdict = duel_->agree(times);
    const bool is_too_dear =
        !is_native(challenger_) &&
        duel_->lost_after_next_stage() >
            left_to_lose(std::max(native_seconds(), duel_->time_of(Duel::Side::defender)));
    if (shows_change(duel_->time_of(Duel::Side::defender))) {
      // The rematch waits until that is clear.
      duel_.reset();
      strikes_ = 1;
      next_watch_ = calls_ + watched_calls;
      return;
    }
    if (verdict == Duel::Verdict::open && !is_too_dear) return;
    end_duel(verdict == Duel::Verdict::challenger);
  } else if (last_ == Role::after) {
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
  pair_ = {};
  if (next_watch_ != 0 && calls_ >= next_watch_) watch(recent);
  if (!duel_) plan();
}

void Learner::challenge(std::size_t arm, Duel::Side first, Duel::Kind kind) {
  duel_.emplace(is_native(arm), first, kind);
  challenger_ = arm;
  duel_bytes_ = 0;
  duel_called_ = calls_;
  last_ = Role::none;
}

void Learner::end_duel(bool challenger_won) {
  count_won();
  const double ratio = challenger_won && duel_->ratio() > 0 ? 1 / duel_->ratio() : duel_->ratio();
  const std::size_t loser = challenger_won ? incumbent_ : challenger_;
  if (challenger_won) incumbent_ = challenger_;
  arms_[incumbent_].was_incumbent = true;
  if (ratio > 0) {
    is_measured_ = has_news_ = true;
    if (is_native(loser)) {
      gain_ = ratio;
    } else if (is_native(incumbent_)) {
      gain_ = 0;
    } else if (challenger_won) {
      gain_ *= ratio;
    }
    decided_seconds_ = duel_->time_of(challenger_won ? Duel::Side::challenger : Duel::Side::defender);
    decided_bytes_ = duel_bytes_;
    arms_[loser].slower = ratio * decided_seconds_ / native_seconds();
    model_scale_ = is_native(incumbent_) ? ratio * decided_seconds_ / modelled(loser)
                                         : decided_seconds_ / modelled(incumbent_);
  }
  // Calls by `native` take no longer than without Stretto.
  if (!is_native(challenger_)) lost_ += duel_->lost();
  std::erase(waiting_, incumbent_);
  std::erase(waiting_, loser);
  // One that was not plainly slower may be tried again, when there is time to spare.
  if (has_trials_ && ratio < slower_each_time) {
    waiting_.push_back(loser);
    arms_[loser].trials = enough_to_be_known;
    arms_[loser].lost = enough_to_be_known * std::max(ratio - 1, 0.0) * call_;
  }
  // What the winner took on the network as it was before a rematch: it may have changed meanwhile.
  const bool was_watched = reference_ > 0 && watched_bytes_ == duel_bytes_ && ratio > 0;
  const double reference = was_watched ? reference_ / (challenger_won ? ratio : 1) : 0;
  duel_.reset();
  forget_recent();
  if (was_watched) expect(reference, duel_bytes_);
  trials_end_ = elapsed_ + longest;
  next_watch_ = calls_ + calls_between_watches();
  plan_rematch(ratio, loser);
  plan_challenge();
}

/// `ratio`: the time of the loser, as a multiple of the winner's.
void Learner::plan_rematch(double ratio, std::size_t loser) {
  if (has_trials_) return;
  rival_ = find_rival(loser);
  // A rival that is slower than `native` costs time; `native` itself costs no more than without Stretto.
  const double loss = is_native(rival_) ? 0 : rematch_calls * std::max(ratio - 1, 0.0);
  const auto paid_after = static_cast<std::uint64_t>(std::min(loss / share, 1e9));
  rematch_at_ = calls_ + std::max(rematch_after_, paid_after);
}

/// Who challenges the incumbent in a rematch: `native`, or else the best of those that lost to it.
std::size_t Learner::find_rival(std::size_t loser) const {
  const std::size_t native = find_native();
  if (native == arms_.size()) return loser;
  if (native != incumbent_) return native;
  std::size_t best = loser;
  for (std::size_t arm = 0; arm < arms_.size(); ++arm) {
    if (arm != native && arms_[arm].slower > 0 && arms_[arm].slower < arms_[best].slower) best = arm;
  }
  return best;
}

/// The time of a call by `native`, as far as it is known.
double Learner::native_seconds() const {
  return decided_seconds_ * (is_native(incumbent_) ? 1 : std::max(gain_, 1.0));
}

void Learner::count_won() {
  const double each = native_seconds() - decided_seconds_;
  won_ += each * static_cast<double>(calls_ - won_until_);
  won_until_ = calls_;
}

/// What duels may still lose, in seconds.
double Learner::left_to_lose(double native_seconds) const {
  const double at_first = first_calls * native_seconds;
  return share_of_duels * std::max(agreed_, at_first) + share_of_won * won_ - lost_;
}

void Learner::begin_due_duel() {
  if (challenge_at_ != 0 && calls_ >= challenge_at_) plan_challenge();
  // If the network seems to have changed, that is found out first.
  if (duel_ || strikes_ > 0 || rematch_at_ == 0 || calls_ < rematch_at_) return;
  count_won();
  const double loss = is_native(rival_) ? 0 : least_excess * calls_of_slow_challenger * decided_seconds_;
  if (loss + most_agreements * agreement_ > left_to_lose(native_seconds())) {
    rematch_at_ += Learner::first_rematch;
    return;
  }
  challenge(rival_, Duel::Side::defender, Duel::Kind::rematch);
  rematch_after_ *= 2;
}

/// Begins the duel with the next challenger, or plans when to think of it again.
void Learner::plan_challenge() {
  challenge_at_ = 0;
  if (challengers_.empty() || !(decided_seconds_ > 0)) return;
  const std::size_t next = challengers_.front();
  // The model compares candidates with each other, and one of them was measured.
  const double expected = model_scale_ * arms_[next].risk;
  if (expected > worth_a_duel * decided_seconds_) return;
  count_won();
  const double excess = std::max(expected - decided_seconds_, least_excess * decided_seconds_);
  const bool is_hopeless = excess > least_hopeless_excess * decided_seconds_;
  const double loss = excess * (is_hopeless ? calls_of_hopeless_challenger : calls_of_slow_challenger);
  const double missing = loss + most_agreements * agreement_ - left_to_lose(native_seconds());
  if (missing <= 0) {
    challengers_.pop_front();
    challenge(next);
    return;
  }
  const double each_call =
      share_of_duels * native_seconds() + share_of_won * (native_seconds() - decided_seconds_);
  const double wait = std::clamp(missing / each_call, static_cast<double>(least_watch), 1e6);
  challenge_at_ = calls_ + static_cast<std::uint64_t>(wait);
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
  is_measured_ = has_news_ = true;
  decided_seconds_ = 0;
  forget_recent();
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
  if (next_watch_ == 0) next_watch_ = calls_ + least_watch;
  if (waiting_.empty() || elapsed_ > trials_end_) {
    waiting_.clear();
    is_settled_ = call_ < least_watched_seconds && (has_trials_ || rematch_after_ > last_rematch);
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

Learner::Recent Learner::recent_times() const {
  if (watched_count_ < watched_calls) return {};
  std::array<double, watched_calls> sorted = watched_;
  std::ranges::sort(sorted);
  return {.fast = sorted[1], .usual = sorted[watched_calls / 2], .slow = sorted[watched_calls - 2]};
}

void Learner::forget_recent() {
  watched_count_ = 0;
  watched_bytes_ = 0;
  reference_ = 0;
  strikes_ = 0;
}

/// Whether a call by the incumbent, in a rematch, takes another time than when it was decided.
bool Learner::shows_change(double seconds) const {
  if (has_trials_ || !(reference_ > 0) || watched_bytes_ != duel_bytes_) return false;
  return seconds > 0 && (seconds > other_regime * reference_ || reference_ > other_regime * seconds);
}

std::uint64_t Learner::calls_between_watches() const {
  const double most = call_ > 0 ? agreement_ / (share_of_watch * call_) : 0;
  return std::max(least_watch, static_cast<std::uint64_t>(std::min(most, 1e6)));
}

/// Compares the recent calls with those after the last decision. Nearly all of them must take longer, or
/// shorter, than is usual: the median alone may move in noise. `recent`: of the slowest rank.
void Learner::watch(const Recent& recent) {
  next_watch_ = calls_ + calls_between_watches();
  if (!(recent.usual > 0)) return;
  if (!(reference_ > 0)) {
    reference_ = recent.usual;
    return;
  }
  if (recent.fast < other_regime * reference_ && reference_ < other_regime * recent.slow) {
    strikes_ = 0;
    return;
  }
  if (++strikes_ < strikes_of_regime) {
    next_watch_ = calls_ + watched_calls;
    return;
  }
  // Without trials, it waits until another duel may be lost.
  if (!has_trials_ && lost_ > share_before_duel * agreed_) return;
  start_over();
}

bool Learner::take_change() {
  return std::exchange(has_changed_, false);
}

void Learner::take_over_losses(const Learner& other) {
  agreed_ = other.agreed_;
  lost_ = other.lost_;
}

/// What was found out no longer holds.
void Learner::start_over() {
  forget_recent();
  waiting_.clear();
  for (std::size_t arm = 0; arm < arms_.size(); ++arm) {
    arms_[arm].ratios.clear();
    arms_[arm].was_incumbent = arm == incumbent_;
    if (has_trials_ && arm != incumbent_) waiting_.push_back(arm);
  }
  trials_end_ = elapsed_ + longest;
  if (arms_.size() < 2 || lost_ > share_before_duel * agreed_) return;
  has_changed_ = true;
  const std::size_t native = find_native();
  const bool has_native = native != arms_.size();
  // After `native`, the standing choice is the most promising one.
  const std::size_t other = incumbent_ == 0 ? 1 : 0;
  challenge(is_native(incumbent_) || !has_native ? other : native);
}

const Spec* Learner::begin(std::size_t bytes) {
  ++calls_;
  current_ = Role::none;
  current_bytes_ = bytes;
  if (!duel_ && !is_settled_) begin_due_duel();
  const std::size_t arm = duel_ ? begin_duel_call(bytes) : begin_trial_call(bytes);
  return arm == 0 ? nullptr : &arms_[arm].spec;
}

std::size_t Learner::begin_duel_call(std::size_t bytes) {
  if (calls_ > duel_called_ + most_calls_for_pair) challenge(challenger_);
  if (duel_bytes_ == 0) duel_bytes_ = bytes;
  if (bytes != duel_bytes_) return incumbent_;
  duel_called_ = calls_;
  current_ = Role::duel;
  return duel_->next() == Duel::Side::challenger ? challenger_ : incumbent_;
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

bool Learner::wants_time() const {
  if (is_settled_) return false;
  // Without trials, only the calls before the ranks compare notes.
  return duel_ || has_trials_ || next_watch_ == 0 || calls_ + 2 * watched_calls >= next_watch_;
}

void Learner::end(double seconds) {
  if (is_settled_) return;
  seconds = measured(seconds);
  sum_ += seconds;
  ++timed_;
  ++all_timed_;
  if (current_ == Role::duel) {
    duel_->count(seconds);
    return;
  }
  if (current_ != Role::none) pair_[static_cast<std::size_t>(current_) - 1] = seconds;
  if (current_ == Role::trial) return;
  if (watched_bytes_ == 0 || all_timed_ > watched_last_ + most_calls_for_pair) {
    forget_recent();
    watched_bytes_ = current_bytes_;
  }
  if (current_bytes_ != watched_bytes_) return;
  watched_last_ = all_timed_;
  watched_[watched_count_++ % watched_calls] = seconds;
}

void Learner::expect(double seconds, std::size_t bytes) {
  reference_ = seconds;
  watched_bytes_ = bytes;
}

std::optional<Learner::Outcome> Learner::take_news() {
  return std::exchange(has_news_, false) ? outcome() : std::nullopt;
}

std::optional<Learner::Outcome> Learner::outcome() const {
  if (!is_measured_) return std::nullopt;
  return Outcome{.spec = arms_[incumbent_].spec,
                 .gain = gain_,
                 .seconds = agreed_,
                 .is_new = incumbent_ != 0,
                 .call_seconds = decided_seconds_,
                 .call_bytes = decided_bytes_};
}

}  // namespace stretto
