// SPDX-License-Identifier: Apache-2.0
#include "learn/races/learner.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace stretto {
namespace {

/// The share of the time of all calls that comparing notes may take.
constexpr double share_of_watch = 0.002;
/// The calls that a slower challenger makes in a duel, and how much slower it is taken to be at least.
constexpr double calls_of_slow_challenger = 6;
constexpr double least_excess = 0.25;
/// The same for a challenger that is dropped at once.
constexpr double calls_of_hopeless_challenger = 2;
constexpr double least_hopeless_excess = 0.5;
constexpr double most_agreements = 3;
/// The number of calls that the rival makes in a rematch.
constexpr double rematch_calls = 4;
/// A candidate that should take more than this multiple of the incumbent's time is not called.
constexpr double worth_a_duel = 3;
/// With long calls, only a challenger that should be as fast is worth a duel, unless the model has been
/// wrong.
constexpr double worth_a_long_duel = 1.05;
/// A call that takes at most this multiple of the time that the network allows is near to it. A call that
/// takes much less shows that the network allows more than the model says.
constexpr double near_least = 1.3;
constexpr double below_least = 0.85;
/// Nothing can be gained over a call that takes no more than this multiple.
constexpr double at_least = 1.03;
/// An agreement would take too large a part of shorter calls.
constexpr double least_on_trust = 0.002;
/// The multiple of a long call's time that `native` may take, if nothing is known about it.
constexpr double native_may_take = 7;
/// If `native` should take this multiple of a call's time, a comparison waits until its cost is earned.
constexpr double too_dear_to_try = 3.5;
/// A call that takes longer than this multiple of its time in an earlier job, and longer than a busy machine
/// explains, has nothing to do with that time.
constexpr double many_times = 8;
/// A winner whose calls in a row take this many times as long as the loser took has won only because links
/// had saved up bytes.
constexpr double slower_in_a_row = 1.1;
/// In doubt the winner of a duel stays, as in the duel.
constexpr double worth_a_change = 0.97;
/// The share of the time of all calls that rematches may lose.
constexpr double share_of_rematches = 0.008;
/// Shorter calls are not watched: their own measurement would take too much of their time.
constexpr double least_watched_seconds = 20e-6;
/// The wait before the last rematch of calls that are not watched, in calls.
constexpr std::uint64_t last_rematch = 4 * Learner::first_rematch;

/// No call takes longer than this.
constexpr double longest_call = 86400;

/// The number of calls for which a duel may wait for one of its size.
constexpr std::uint64_t most_calls_for_pair = 64;

/// The figures in figures() before those of the duel.
constexpr std::size_t first_of_late = 5;
constexpr std::size_t own_figures = first_of_late + LateRank::figure_count;

std::span<const Stage> stages_of(bool by_native, bool is_rematch, bool are_long) {
  using namespace policies;
  if (is_rematch && by_native) return are_long ? long_rematch_with_native : rematch_with_native;
  if (is_rematch) return are_long ? long_rematch : rematch;
  if (by_native) return are_long ? long_duel_with_native : duel_with_native;
  return are_long ? long_duel : duel;
}

/// Returns the seconds, or 0 if a clock has jumped. Above all, NaN must not get to the other ranks, because
/// each of them would find another maximum.
double measured(double seconds) {
  return seconds > 0 && seconds < longest_call ? seconds : 0;
}

}  // namespace

Learner::Learner(const Spec& standing, Standing known, const std::vector<Candidate>& candidates) {
  if (candidates.empty()) phase_ = Settled{};
  arms_.push_back({.spec = standing, .expected = 1});
  for (const Candidate& candidate : candidates)
    arms_.push_back({.spec = candidate.spec, .expected = candidate.expected});
  const std::size_t native = find_native();
  if (known == Standing::decided || native == 0 || native == arms_.size()) return;
  if (known == Standing::proven) {
    challenge(native);
    return;
  }
  incumbent_ = native;
  for (std::size_t arm = 1; arm < arms_.size(); ++arm) {
    if (arm != native) challengers_.push_back(arm);
  }
  challenge(0, known == Standing::modelled ? Side::challenger : Side::defender);
}

/// Returns the arm that is `native`, or the number of arms if there is none.
std::size_t Learner::find_native() const {
  std::size_t arm = 0;
  while (arm < arms_.size() && !is_native(arm)) ++arm;
  return arm;
}

void Learner::promise(double least, std::size_t bytes) {
  if (!is<Duel>() || is_native(0) || least < least_on_trust || bytes == 0) return;
  phase_ = Trusting{.least_per_byte = least / static_cast<double>(bytes)};
  incumbent_ = 0;
}

void Learner::expect_native(double times) {
  if (times < too_dear_to_try || is_native(0)) return;
  native_expected_ = times;
  if (!is<Duel>()) return;
  phase_ = Watching{};
  incumbent_ = 0;
  challengers_.push_back(find_native());
  begin_watch();
}

/// Begins to compare, now that the first call took `seconds`.
void Learner::settle_promise(double seconds) {
  const double least = std::get<Trusting>(phase_).least_per_byte * static_cast<double>(current_bytes_);
  phase_ = Watching{};
  const std::size_t native = find_native();
  const bool is_near = seconds >= below_least * least && seconds <= near_least * least;
  counts_as_long_ = is_near || seconds >= policies::long_seconds;
  if (!is_near) {
    incumbent_ = native;
    watch_.forget();
    challenge(0);
    return;
  }
  // That is no news: the next job may trust it as well, and compare it in the end.
  watch_.expect(seconds, current_bytes_);
  if (seconds < at_least * least) challengers_.clear();
  challengers_.push_back(native);
  next_watch_ = calls_ + least_watch;
  begin_comparing(seconds);
}

/// Believes the earlier job if one of the first two calls, which took `seconds`, is like its own. (The first
/// one may also set up connections.)
void Learner::check_word(double seconds) {
  const double word = std::get<Believing>(phase_).per_byte * static_cast<double>(current_bytes_);
  const bool is_broken = seconds > many_times * word + policies::long_seconds;
  if (is_broken && calls_ == 1) return;
  phase_ = Watching{};
  if (is_broken) news_ = News::broken_word;
}

bool Learner::wants_agreement() const {
  if (is_settled()) return false;
  if (is<Trusting>() || is<Believing>()) return calls_ > 0;
  const Duel* duel = std::get_if<Duel>(&phase_);
  return duel != nullptr ? duel->trial.wants_agreement() : calls_ >= next_watch_;
}

std::vector<double> Learner::figures() const {
  // The rank that comes last to an agreement measures the real time of the agreement. The others wait for
  // that rank, and would have waited in the next call as well. So the minimum counts.
  const Recent recent = watch_.recent();
  // Calls that were not timed count as long as the others.
  const auto calls = static_cast<double>(calls_ - tally_.since);
  const double all_calls = tally_.timed > 0 ? tally_.seconds * calls / static_cast<double>(tally_.timed) : 0;
  std::vector<double> all{all_calls, -tally_.agreement, recent.fast, recent.usual, recent.slow};
  late_.append_figures(all, rank_, recent.usual);
  // The rank that comes last to a call measures its real time, so the minimum counts.
  if (is<Believing>()) all.push_back(-tally_.seconds);
  if (const Duel* duel = std::get_if<Duel>(&phase_))
    std::ranges::copy(duel->trial.figures(), std::back_inserter(all));
  return all;
}

void Learner::agree(std::span<const double> agreed, double seconds) {
  const Recent recent{.fast = agreed[2], .usual = agreed[3], .slow = agreed[4]};
  ledger_.add_calls(agreed[0], calls_ - tally_.since);
  // This agreement is counted at the next one.
  ledger_.add_agreement(std::max(-agreed[1], 0.0));
  tally_ = {.since = calls_, .agreement = measured(seconds)};
  if (is<Trusting>()) return settle_promise(agreed[0]);
  if (is<Believing>()) return check_word(-agreed[own_figures]);
  if (is<Duel>()) {
    if (!agree_on_duel(agreed.subspan(own_figures))) return;
  } else if (calls_ >= next_watch_) {
    watch(recent);
    look_for_late(agreed.subspan(first_of_late, LateRank::figure_count));
  }
  if (is<Watching>() && ledger_.call() < least_watched_seconds && rematch_after_ > last_rematch)
    phase_ = Settled{};
}

/// Returns whether the duel has a winner now.
bool Learner::agree_on_duel(std::span<const double> figures) {
  Duel& duel = std::get<Duel>(phase_);
  const Trial::Verdict verdict = duel.trial.agree(figures);
  if (duel.checks_network) {
    end_check();
    return false;
  }
  const double of_defender = duel.trial.time_of(Side::defender);
  if (is_surprised_by(of_defender, duel.bytes)) {
    postpone_duel();
    return false;
  }
  const double left = ledger_.left_for_duels(std::max(native_seconds(), of_defender));
  // A challenger that seems as fast costs nothing.
  const bool is_too_dear =
      !is_native(duel.challenger) && duel.trial.lost_after_next_stage() > std::max(left, 0.0);
  if (verdict == Trial::Verdict::open && !is_too_dear) return false;
  end_duel(verdict == Trial::Verdict::challenger);
  return true;
}

void Learner::challenge(std::size_t arm, Side first, bool is_rematch) {
  const std::span<const Stage> stages =
      is_for_late(arm) ? policies::duel_for_late : stages_of(is_native(arm), is_rematch, are_long());
  phase_ =
      Duel{.trial = Trial(stages, first), .challenger = arm, .is_rematch = is_rematch, .last_call = calls_};
}

void Learner::end_duel(bool challenger_won) {
  count_won();
  const Duel duel = std::get<Duel>(std::exchange(phase_, Watching{}));
  const Trial& trial = duel.trial;
  const std::size_t challenger = duel.challenger;
  const std::size_t winner = challenger_won ? challenger : incumbent_;
  const std::size_t loser = challenger_won ? incumbent_ : challenger;
  const double ratio = challenger_won && trial.ratio() > 0 ? 1 / trial.ratio() : trial.ratio();
  const double seconds = trial.time_of(challenger_won ? Side::challenger : Side::defender);
  arms_[incumbent_].in_duel = trial.time_of(Side::defender);
  arms_[challenger].in_duel = trial.time_of(Side::challenger);
  // Calls by `native` take no longer than without Stretto.
  if (!is_native(challenger)) ledger_.lose(trial.lost());
  std::erase(challengers_, challenger);
  conclude(winner, loser, seconds, ratio, duel.bytes);
  put_on_probation(loser, ratio * seconds, duel.bytes);
  begin_watch();
}

/// Looks at calls in a row first. The duel begins anew when they show that the network is as before.
void Learner::postpone_duel() {
  const Duel duel = std::get<Duel>(std::exchange(phase_, Watching{.must_look = true}));
  next_watch_ = calls_ + Watch::window;
  if (duel.is_rematch) return;
  challengers_.insert(challengers_.begin(), duel.challenger);
  challenge_at_ = next_watch_;
}

/// Whether a call of the incumbent took another time than it should. That may be a single late call, so it
/// only brings the next look forward, and only once before that.
bool Learner::is_surprised_by(double seconds, std::size_t bytes) {
  if (watch_.is_surprised_by(seconds, bytes)) return true;
  if (!probation_ || probation_->was_surprised || !is_unlike_duel(incumbent_, seconds)) return false;
  probation_->was_surprised = true;
  return true;
}

/// Checks the last duel if calls by the incumbent, which took `seconds`, show that it must be. Returns
/// whether it does so.
bool Learner::begin_check(double seconds) {
  if (probation_->was_checked || !is_unlike_duel(incumbent_, seconds)) return false;
  probation_->was_checked = true;
  challenge(probation_->loser, Side::defender, true);
  Duel& check = std::get<Duel>(phase_);
  check.bytes = probation_->bytes;
  check.checks_network = true;
  return true;
}

/// The network has changed only if both sides take another time. If only one does, the other's calls may be
/// the reason.
void Learner::end_check() {
  const Duel check = std::get<Duel>(std::exchange(phase_, Watching{}));
  const bool differ = is_unlike_duel(incumbent_, check.trial.time_of(Side::defender)) &&
                      is_unlike_duel(check.challenger, check.trial.time_of(Side::challenger));
  if (differ && ledger_.allows_change()) news_ = News::change;
  if (!is_native(check.challenger)) ledger_.lose(check.trial.lost());
  begin_watch();
}

/// Puts the winner in force, whose calls take `seconds`. `ratio`: the loser's time as a multiple of that; 0:
/// nothing was measured.
void Learner::conclude(std::size_t winner, std::size_t loser, double seconds, double ratio,
                       std::size_t bytes) {
  if (is_for_late(winner) && winner != incumbent_) {
    for_late_->before = incumbent_;
    for_late_->decided = decided_;
  }
  if (ratio > 0) {
    if (is_native(loser)) {
      decided_.gain = ratio;
    } else if (is_native(winner)) {
      decided_.gain = 0;
    } else if (winner != incumbent_) {
      decided_.gain *= ratio;
    }
    decided_.call_seconds = seconds;
    decided_.call_bytes = bytes;
    if (is_news(winner)) news_ = News::decision;
    model_scale_ =
        is_native(winner) ? ratio * seconds / arms_[loser].expected : seconds / arms_[winner].expected;
  }
  incumbent_ = winner;
  if (ratio > 0 && is_news(winner)) arms_[loser].slower = ratio * seconds / native_seconds();
  plan_rematch(ratio, loser);
  plan_challenge();
}

/// A winner that was never compared with `native` is no news (settle_promise()), nor is one for a late rank.
bool Learner::is_news(std::size_t winner) const {
  return is_native(winner) || (decided_.gain > 0 && !is_for_late(winner));
}

/// Keeps the best of several losers since the last look. For long calls no loser counts as faster, because a
/// call leaves little behind for the next one.
void Learner::put_on_probation(std::size_t loser, double of_loser, std::size_t bytes) {
  if (are_long()) of_loser = longest_call;
  if (probation_ && probation_->loser == incumbent_) probation_.reset();
  if (!(of_loser > 0) || (probation_ && probation_->of_loser <= of_loser)) return;
  probation_ = {.loser = loser, .of_loser = of_loser, .bytes = bytes};
}

/// Returns the arm that was fastest in a row, apart from the incumbent; the incumbent if no other is known.
std::size_t Learner::best_in_a_row(std::size_t bytes) const {
  std::size_t best = incumbent_;
  for (std::size_t arm = 0; arm < arms_.size(); ++arm) {
    if (!(arms_[arm].in_a_row > 0) || arms_[arm].bytes != bytes || arm == incumbent_) continue;
    if (best == incumbent_ || arms_[arm].in_a_row < arms_[best].in_a_row) best = arm;
  }
  return best;
}

/// Begins to watch after some calls: links have saved up bytes in the duel, so the first calls behind it say
/// little.
void Learner::begin_watch() {
  const Arm& arm = arms_[incumbent_];
  watch_.forget();
  if (arm.in_a_row > 0 && !is<SecondLook>()) watch_.expect(arm.in_a_row, arm.bytes);
  if (is<SecondLook>()) {
    next_watch_ = calls_ + least_watch;
    return;
  }
  constexpr std::uint64_t settling = 2 * least_watch;
  next_watch_ = calls_ + (probation_ ? settling : std::max(settling, calls_between_watches()));
}

/// Whether a call takes so much more or less time than in its last duel that the network must have changed.
bool Learner::is_unlike_duel(std::size_t arm, double seconds) const {
  const auto [shorter, longer] = std::minmax(seconds, arms_[arm].in_duel);
  return shorter > 0 && are_of_two_networks(shorter + saved_seconds_, longer);
}

/// Looks at `recent`: calls in a row by the winner of the last duels.
void Learner::look_at_winner(const Recent& recent) {
  if (!(watch_.expected(probation_->bytes) > 0)) return;  // calls of that size are still to come
  count_won();
  if (begin_check(recent.usual)) return;
  const Probation last = *std::exchange(probation_, {});
  const std::size_t known = best_in_a_row(last.bytes);
  const bool is_known_slower = known != incumbent_ && arms_[known].in_a_row < worth_a_change * recent.usual;
  if (is_known_slower || recent.fast > slower_in_a_row * last.of_loser) {
    phase_ = SecondLook{
        .loser = is_known_slower ? known : last.loser, .bytes = last.bytes, .of_winner = recent.usual};
    begin_watch();
    return;
  }
  keep(recent.usual, last.bytes);
  if (are_long()) return;
  plan_rematch(last.of_loser / recent.usual, last.loser);
  plan_challenge();
}

/// Looks at `recent`: calls in a row by the loser, in the winner's place.
void Learner::look_at_loser(const Recent& recent) {
  count_won();
  const SecondLook last = std::get<SecondLook>(phase_);
  const std::size_t loser = last.loser;
  const double usual = watch_.expected(last.bytes) > 0 ? recent.usual : 0;
  if (!is_native(loser))
    ledger_.lose(static_cast<double>(least_watch) * std::max(usual - last.of_winner, 0.0));
  const double ratio = usual / last.of_winner;
  const bool is_faster = usual > 0 && ratio < (is_native(loser) ? 1 : worth_a_change);
  if (is_faster && !last.has_shown_once) {
    std::get<SecondLook>(phase_).has_shown_once = true;
    watch_.forget();
    next_watch_ = calls_ + 2 * least_watch;
    return;
  }
  phase_ = Watching{};
  const double seconds = is_faster ? usual : last.of_winner;
  if (is_faster) {
    conclude(loser, incumbent_, seconds, 1 / ratio, last.bytes);
  } else {
    conclude(incumbent_, loser, seconds, ratio, last.bytes);
  }
  keep(seconds, last.bytes);
  begin_watch();
}

/// Keeps the time that a call by the incumbent takes in a row.
void Learner::keep(double seconds, std::size_t bytes) {
  arms_[incumbent_].in_a_row = seconds;
  arms_[incumbent_].bytes = bytes;
  decided_.call_seconds = seconds;
  if (is_news(incumbent_)) news_ = News::decision;
}

/// `ratio`: the loser's time as a multiple of the winner's.
void Learner::plan_rematch(double ratio, std::size_t loser) {
  const std::size_t rival = find_rival(loser);
  // A rival that is slower than `native` costs time.
  const double loss = is_native(rival) ? lost_by_native() : rematch_calls * std::max(ratio - 1, 0.0);
  const auto paid_after = static_cast<std::uint64_t>(std::min(loss / share_of_rematches, 1e9));
  rematch_ = {.rival = rival, .at = calls_ + std::max(rematch_after_, paid_after)};
}

/// Returns what a rematch with `native` loses, in calls by the incumbent. Short calls lose nothing unless it
/// is much slower, because calls by `native` take no longer than without Stretto. But there may be few long
/// calls.
double Learner::lost_by_native() const {
  const double unmeasured = native_expected_.value_or(are_long() ? native_may_take : 1);
  const double times = decided_.gain > 0 ? decided_.gain : unmeasured;
  if (are_long()) return std::max(times - 1, 0.0);
  return times < too_dear_to_try ? 0 : calls_of_hopeless_challenger * (times - 1);
}

/// Returns the arm that challenges the incumbent in a rematch: `native`, or if that is the incumbent, the
/// best of those that lost to it.
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

/// Returns the time of a call by `native`, as far as it is known.
double Learner::native_seconds() const {
  return decided_.call_seconds * (is_native(incumbent_) ? 1 : std::max(decided_.gain, 1.0));
}

void Learner::count_won() {
  const double each = native_seconds() - decided_.call_seconds;
  ledger_.win(each * static_cast<double>(calls_ - won_until_));
  won_until_ = calls_;
}

void Learner::begin_due_duel() {
  // If the network seems to have changed, that is found out first.
  const auto* watching = std::get_if<Watching>(&phase_);
  if (watching == nullptr || watching->must_look) return;
  if (challenge_at_ != 0 && calls_ >= challenge_at_) plan_challenge();
  // Where a look costs next to nothing, one that is due comes before a rematch: a change shows in the time of
  // calls in a row.
  const bool is_look_due = calls_ >= next_watch_ && calls_between_watches() == least_watch;
  if (!is<Watching>() || is_look_due || !rematch_ || calls_ < rematch_->at) return;
  count_won();
  const std::size_t rival = rematch_->rival;
  const double loss =
      (is_native(rival) ? lost_by_native() : least_excess * calls_of_slow_challenger) * decided_.call_seconds;
  if (loss + most_agreements * ledger_.agreement() > left_to_lose()) {
    rematch_->at += Learner::first_rematch;
    return;
  }
  challenge(rival, Side::defender, true);
  rematch_after_ *= 2;
}

/// Returns the expected time of a call by this arm. The model compares candidates with each other, and one of
/// them was measured. Nothing is known about `native` where it is a challenger.
double Learner::expected_seconds(std::size_t arm) const {
  return is_native(arm) ? native_expected_.value_or(native_may_take) * decided_.call_seconds
                        : model_scale_ * arms_[arm].expected;
}

/// Begins the duel with the next challenger that is worth it, or plans when to consider it again.
void Learner::plan_challenge() {
  challenge_at_ = 0;
  if (!(decided_.call_seconds > 0)) return;
  const double most = are_long() && !is_native(incumbent_) ? worth_a_long_duel : worth_a_duel;
  const auto found = std::ranges::find_if(challengers_, [&](std::size_t arm) {
    return is_native(arm) || expected_seconds(arm) <= most * decided_.call_seconds;
  });
  if (found == challengers_.end()) return;
  const std::size_t next = *found;
  count_won();
  const double excess =
      std::max(expected_seconds(next) - decided_.call_seconds, least_excess * decided_.call_seconds);
  const bool is_hopeless = excess > least_hopeless_excess * decided_.call_seconds;
  const double calls_if_hopeless = are_long() ? 1 : calls_of_hopeless_challenger;
  // The expected gain of a spec for a late rank was measured, so its duel ends soon if there is none.
  const double calls_if_slow = is_for_late(next) ? calls_of_hopeless_challenger : calls_of_slow_challenger;
  const double loss = excess * (is_hopeless ? calls_if_hopeless : calls_if_slow);
  const double missing = loss + most_agreements * ledger_.agreement() - left_to_lose();
  if (missing <= 0) {
    challengers_.erase(found);
    challenge(next);
    return;
  }
  const double calls =
      Ledger::calls_to_earn(missing, native_seconds(), native_seconds() - decided_.call_seconds);
  const double wait = std::clamp(calls, static_cast<double>(least_watch), 1e6);
  challenge_at_ = calls_ + static_cast<std::uint64_t>(wait);
}

std::uint64_t Learner::calls_between_watches() const {
  const double call = ledger_.call();
  const double most = call > 0 ? ledger_.agreement() / (share_of_watch * call) : 0;
  return std::max(least_watch, static_cast<std::uint64_t>(std::min(most, 1e6)));
}

/// Looks at `recent`: the calls of the slowest rank.
void Learner::watch(const Recent& recent) {
  if (auto* watching = std::get_if<Watching>(&phase_)) watching->must_look = false;
  next_watch_ = calls_ + calls_between_watches();
  switch (watch_.look(recent)) {
    case Watch::Finding::as_usual:
      if (is<SecondLook>()) return look_at_loser(recent);
      if (native_expected_ && incumbent_ == 0 && !is_measured()) return begin_comparing(recent.usual);
      if (probation_) look_at_winner(recent);
      return;
    case Watch::Finding::suspicious:
      if (auto* watching = std::get_if<Watching>(&phase_)) watching->must_look = true;
      next_watch_ = calls_ + Watch::window;
      return;
    case Watch::Finding::changed:
      if (ledger_.allows_change()) news_ = News::change;
  }
}

/// Lets others challenge the standing choice, whose calls take so long.
void Learner::begin_comparing(double seconds) {
  decided_.call_seconds = model_scale_ = seconds;
  decided_.call_bytes = current_bytes_;
  plan_challenge();
}

void Learner::look_for_late(std::span<const double> agreed) {
  if (!is<Watching>()) return;
  late_.look(agreed);
  if (!for_late_) return;
  const auto& found = late_.found();
  if (found && found->rank == for_late_->rank) return;
  if (is_for_late(incumbent_)) {
    count_won();
    incumbent_ = for_late_->before;
    decided_ = for_late_->decided;
    probation_.reset();
    begin_watch();
  }
  std::erase(challengers_, for_late_->arm);
  for_late_.reset();
  told_late_ = -1;
}

std::optional<LateRank::Found> Learner::take_late() {
  const auto& found = late_.found();
  const auto* watching = std::get_if<Watching>(&phase_);
  if (!found || for_late_ || watching == nullptr || watching->must_look || !is_measured())
    return std::nullopt;
  return found->rank == std::exchange(told_late_, found->rank) ? std::nullopt : found;
}

void Learner::challenge_for_late(const Spec& spec, double expected) {
  for_late_ = {.arm = arms_.size(), .rank = told_late_};
  arms_.push_back({.spec = spec, .expected = expected * arms_[incumbent_].expected});
  challengers_.insert(challengers_.begin(), for_late_->arm);
  plan_challenge();
}

bool Learner::take(News news) {
  if (news_ != news) return false;
  news_ = News::none;
  return true;
}

bool Learner::take_change() {
  return take(News::change);
}

bool Learner::take_broken_word() {
  return take(News::broken_word);
}

void Learner::take_over_losses(const Learner& other) {
  ledger_.take_over(other.ledger_);
}

const Spec* Learner::begin(std::size_t bytes) {
  ++calls_;
  current_bytes_ = bytes;
  begin_due_duel();
  const auto* second_look = std::get_if<SecondLook>(&phase_);
  const std::size_t in_a_row = second_look != nullptr ? second_look->loser : incumbent_;
  const std::size_t arm = is<Duel>() ? begin_duel_call(bytes) : in_a_row;
  return arm == 0 ? nullptr : &arms_[arm].spec;
}

std::size_t Learner::begin_duel_call(std::size_t bytes) {
  // A duel that waits for calls of its size for too long begins anew.
  const Duel& begun = std::get<Duel>(phase_);
  if (calls_ > begun.last_call + most_calls_for_pair) challenge(begun.challenger);
  Duel& duel = std::get<Duel>(phase_);
  if (duel.bytes == 0) duel.bytes = bytes;
  duel.has_this_call = bytes == duel.bytes;
  if (!duel.has_this_call) return incumbent_;
  duel.last_call = calls_;
  return duel.trial.next() == Side::challenger ? duel.challenger : incumbent_;
}

bool Learner::wants_time() const {
  if (is_settled()) return false;
  // Only calls shortly before the ranks compare notes are timed.
  const bool is_looked_at = is<Watching>() || is<SecondLook>();
  return !is_looked_at || calls_ + 2 * Watch::window >= next_watch_;
}

void Learner::end(double seconds) {
  if (is_settled()) return;
  seconds = measured(seconds);
  tally_.seconds += seconds;
  ++tally_.timed;
  ++all_timed_;
  Duel* duel = std::get_if<Duel>(&phase_);
  if (duel != nullptr && duel->has_this_call) return duel->trial.count(seconds);
  watch_.count(seconds, current_bytes_, all_timed_);
}

void Learner::expect(double seconds, std::size_t bytes) {
  arms_[0].in_a_row = seconds;
  arms_[0].bytes = bytes;
  watch_.expect(seconds, bytes);
  if (!is_native(0) && bytes > 0) phase_ = Believing{.per_byte = seconds / static_cast<double>(bytes)};
}

std::optional<Learner::Outcome> Learner::take_news() {
  return take(News::decision) ? outcome() : std::nullopt;
}

std::optional<Learner::Outcome> Learner::outcome() const {
  if (!is_measured()) return std::nullopt;
  Outcome outcome = decided_;
  outcome.spec = in_force();
  return outcome;
}

}  // namespace stretto
