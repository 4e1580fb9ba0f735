// SPDX-License-Identifier: Apache-2.0
#include "learn/races/duel.hpp"

#include <algorithm>
#include <numeric>
#include <span>

#include "learn/races/samples.hpp"

namespace stretto {
namespace {

constexpr auto d = Duel::Side::defender;
constexpr auto c = Duel::Side::challenger;

struct Step {
  Duel::Side side;
  bool counts;
};
struct Stage {
  std::array<Step, Duel::most_times> steps;
  std::size_t turns;
};

/// The first call by a side does not count: it makes the schedule, the buffers and the connections.
/// Two calls by one side in a row are as in a program that makes them all by that side, where a rank may run
/// ahead of others.
constexpr std::array<Stage, 4> stages = {{
    {{{{d, false}, {c, false}, {d, true}, {c, true}}}, 4},
    {{{{d, true}, {c, true}}}, 2},
    {{{{c, true}, {d, true}}}, 2},
    {{{{d, true}, {c, true}, {c, true}, {d, true}}}, 4},
}};

/// The first stage of long calls.
constexpr Stage one_each{{{{d, true}, {c, true}}}, 2};

const Stage& stage_of(std::size_t number, bool are_long) {
  return number == 0 && are_long ? one_each : stages.at(number);
}

/// After it, one that takes so much longer than the other has lost.
constexpr double plainly_longer = 1.3;

/// After the first stage, a challenger that takes so much longer is dropped.
constexpr double hopeless = 1.5;
constexpr double hopeless_if_short = 2.5;
/// In a rematch it must even be faster, and is dropped as soon as it is not. (`native` gets a fair trial: no
/// call may be slower than by it.)
constexpr double hopeless_in_rematch = 1.15;
/// Such calls vary much, so one of them says little.
constexpr double very_short_seconds = 0.0005;
/// A challenger that takes this much less time than the defender may win. There are many rematches, so one
/// needs more evidence.
constexpr double usual_margin = 0.03;
constexpr double rematch_margin = 0.06;
/// A challenger of which both calls, with all that they set up, take less than this share of either of the
/// defender's needs no more calls.
constexpr double plainly_faster = 0.8;
constexpr double slower = 1.1;
constexpr double slower_in_one_turn = 1.25;
/// With four turns of each side, at most so many of the 16 pairs may have a slower challenger: one-sided
/// error probability 5 % (Mann-Whitney).
constexpr std::size_t most_lost_pairs = 1;
/// If the challenger is plainly faster, one of its calls may be late.
constexpr std::size_t most_lost_pairs_if_plain = 5;

}  // namespace

Duel::Side Duel::side_of(std::size_t turn) const {
  const Side side = stage_of(stage_, are_long_).steps.at(turn).side;
  // In the first stage the sides take turns.
  if (stage_ != 0 || first_ == Side::defender) return side;
  return side == Side::defender ? Side::challenger : Side::defender;
}

Duel::Side Duel::next() const {
  return side_of(turn_);
}

void Duel::count(double seconds) {
  turn_times_.at(call_++) = seconds;
  if (call_ < calls_of_turn_) return;
  // The first call of a turn also waits for ranks that the other side has left late.
  const std::span<const double> all(turn_times_.data(), call_);
  if (kind_ == Kind::first || call_ == 1) {
    times_.at(turn_++) = std::ranges::min(all);
  } else {
    const auto others = all.subspan(1);
    const double sum = std::accumulate(others.begin(), others.end(), 0.0);
    times_.at(turn_++) = sum / static_cast<double>(others.size());
  }
  call_ = 0;
}

bool Duel::wants_agreement() const {
  return turn_ == stage_of(stage_, are_long_).turns;
}

Duel::Verdict Duel::agree(const Times& maxima) {
  const Stage& stage = stage_of(stage_, are_long_);
  if (calls_of_times_ != calls_of_turn_) {
    lost_before_ = lost();
    of_defender_.clear();
    of_challenger_.clear();
    calls_of_times_ = calls_of_turn_;
  }
  for (std::size_t turn = 0; turn < stage.turns; ++turn) {
    const Step& step = stage.steps.at(turn);
    const bool is_defender = side_of(turn) == Side::defender;
    if (step.counts) (is_defender ? of_defender_ : of_challenger_).push_back(maxima.at(turn));
    if (!step.counts || (stage_ == 0 && are_long_))
      (is_defender ? first_of_defender_ : first_of_challenger_) = maxima.at(turn);
  }
  if (stage_ == 0 && !are_long_) {
    const double usual = std::min(first_of_challenger_, time_of(Side::challenger));
    lost_before_ = std::max(usual - time_of(Side::defender), 0.0);
  }
  const Verdict verdict = judge();
  if (verdict == Verdict::open) {
    calls_of_turn_ = kind_ == Kind::first ? 2 : turn_times_.size();
    ++stage_;
  }
  turn_ = 0;
  times_ = {};
  return verdict;
}

double Duel::time_of(Side side) const {
  const std::vector<double>& times = side == Side::defender ? of_defender_ : of_challenger_;
  return times.empty() ? 0 : median(times);
}

double Duel::ratio() const {
  const double defender = time_of(Side::defender);
  return defender > 0 ? time_of(Side::challenger) / defender : 0;
}

double Duel::lost() const {
  double usual = time_of(Side::challenger);
  if (of_challenger_.size() == 1) usual = std::min(usual, first_of_challenger_);
  const auto calls = static_cast<double>(calls_of_times_ * of_challenger_.size());
  return lost_before_ + calls * std::max(usual - time_of(Side::defender), 0.0);
}

double Duel::lost_after_next_stage() const {
  if (of_challenger_.empty() || of_defender_.empty()) return 0;
  const double best = std::min(first_of_challenger_, std::ranges::min(of_challenger_));
  const double excess = best - std::min(first_of_defender_, std::ranges::min(of_defender_));
  // stage_ is already the next one. Half of its turns are the challenger's.
  const auto calls = static_cast<double>(calls_of_turn_ * stages.at(stage_).turns) / 2;
  return lost() + calls * std::max(excess, 0.0);
}

bool Duel::must_be_faster_at_once() const {
  return kind_ == Kind::rematch && !is_challenger_favoured_;
}

/// A rematch must not be won by a single call.
Duel::Verdict Duel::judge_long_pair() const {
  if (ratio() > plainly_longer) return Verdict::defender;
  const bool may_win = kind_ == Kind::first || is_challenger_favoured_;
  return may_win && ratio() < 1 / plainly_longer ? Verdict::challenger : Verdict::open;
}

Duel::Verdict Duel::judge() const {
  const double now = ratio();
  if (!(now > 0)) return stage_ + 1 < stages.size() ? Verdict::open : Verdict::defender;
  if (stage_ == 0 && are_long_) return judge_long_pair();
  if (stage_ == 0) {
    const double slowest = std::max(first_of_challenger_, of_challenger_[0]);
    const double best = std::min(first_of_challenger_, of_challenger_[0]);
    const double fastest = std::min(first_of_defender_, of_defender_[0]);
    const double usual = time_of(Side::defender);
    if (slowest < plainly_faster * fastest && usual >= long_seconds) return Verdict::challenger;
    const bool is_very_short = usual < very_short_seconds;
    const double most = must_be_faster_at_once() ? (is_very_short ? hopeless : hopeless_in_rematch)
                                                 : (is_very_short ? hopeless_if_short : hopeless);
    return best > most * fastest ? Verdict::defender : Verdict::open;
  }
  const std::size_t lost = count_lost_pairs(of_challenger_, of_defender_);
  const bool is_last = stage_ + 1 == stages.size();
  const bool is_rematch = kind_ == Kind::rematch;
  const double margin = is_rematch ? rematch_margin : usual_margin;
  const std::size_t most_lost_by_first = now < plainly_faster ? most_lost_pairs_if_plain : most_lost_pairs;
  const std::size_t most_lost = !is_last ? 0 : is_rematch ? 1 : most_lost_by_first;
  // Two turns of each are less evidence.
  const double enough = is_last || is_challenger_favoured_ ? 1 - margin : plainly_faster;
  if (of_challenger_.size() > 1 && lost <= most_lost && now < enough) return Verdict::challenger;
  if (is_last && is_challenger_favoured_ && now < 1 - margin) return Verdict::challenger;
  // One late call does not make a challenger slower.
  const double best = std::ranges::min(of_challenger_) / std::ranges::min(of_defender_);
  const double plainly_slower = must_be_faster_at_once()     ? 1
                                : of_challenger_.size() == 1 ? slower_in_one_turn
                                                             : slower;
  // What was decided stays, unless a few rows of calls speak against it.
  if (must_be_faster_at_once() && of_challenger_.size() > 1 && lost > most_lost_pairs) {
    return Verdict::defender;
  }
  return is_last || (now > plainly_slower && best > plainly_slower) ? Verdict::defender : Verdict::open;
}

}  // namespace stretto
