// SPDX-License-Identifier: Apache-2.0
#include "learn/duel.hpp"

#include <algorithm>

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
constexpr std::array<Stage, 3> stages = {{
    {{{{d, false}, {c, false}, {d, true}, {c, true}}}, 4},
    {{{{d, true}, {d, true}, {c, true}, {c, true}}}, 4},
    {{{{c, true}, {d, true}, {d, true}, {c, true}}}, 4},
}};

/// After its first call that counts, a challenger that takes so much longer is dropped.
constexpr double hopeless = 1.6;
constexpr double hopeless_if_short = 2.5;
/// In shorter calls, it matters how late the call before has left each rank. So the first stage decides
/// little, and then a turn is more than one call.
constexpr double short_seconds = 0.005;
/// Still shorter ones vary much, so one of them says little.
constexpr double very_short_seconds = 0.0005;
/// A challenger of which both calls, with all that they set up, take less than this share of either of the
/// defender's needs no more calls.
constexpr double plainly_faster = 0.8;
constexpr double slower = 1.1;
/// With five calls of each side, at most so many of the 25 pairs may have a slower challenger: one-sided
/// error probability 5 % (Mann-Whitney).
constexpr std::size_t most_lost_pairs = 4;
/// The same with four turns of each.
constexpr std::size_t most_lost_pairs_of_turns = 1;
/// If the challenger is plainly faster, one of its calls may be late.
constexpr std::size_t most_lost_pairs_if_plain = 5;

double median(std::vector<double> samples) {
  std::ranges::sort(samples);
  const std::size_t half = samples.size() / 2;
  return samples.size() % 2 == 1 ? samples[half] : (samples[half - 1] + samples[half]) / 2;
}

}  // namespace

Duel::Side Duel::side_of(std::size_t turn) const {
  const Side side = stages.at(stage_).steps.at(turn).side;
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
  // The first call of a turn also waits for ranks that the other side has left late, and any call may meet
  // another program. So the best one counts.
  const double least =
      *std::min_element(turn_times_.begin(), turn_times_.begin() + static_cast<std::ptrdiff_t>(call_));
  times_.at(turn_++) = least;
  call_ = 0;
}

bool Duel::wants_agreement() const {
  return turn_ == stages.at(stage_).turns;
}

Duel::Verdict Duel::agree(const Times& maxima) {
  const Stage& stage = stages.at(stage_);
  for (std::size_t turn = 0; turn < stage.turns; ++turn) {
    const Step& step = stage.steps.at(turn);
    const bool is_defender = side_of(turn) == Side::defender;
    if (step.counts) {
      (is_defender ? of_defender_ : of_challenger_).push_back(maxima.at(turn));
    } else {
      (is_defender ? first_of_defender_ : first_of_challenger_) = maxima.at(turn);
    }
  }
  const Verdict verdict = judge();
  if (verdict == Verdict::open && stage_ == 0 && are_short()) {
    calls_of_turn_ = turn_times_.size();
    of_defender_.clear();
    of_challenger_.clear();
  }
  if (verdict == Verdict::open) ++stage_;
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
  const double defender = time_of(Side::defender);
  double sum = first_of_challenger_ - defender;
  for (const double one : of_challenger_) sum += static_cast<double>(calls_of_turn_) * (one - defender);
  return std::max(sum, 0.0);
}

bool Duel::are_short() const {
  const double defender = time_of(Side::defender);
  return defender > 0 && defender < short_seconds;
}

Duel::Verdict Duel::judge() const {
  const double now = ratio();
  if (!(now > 0)) return stage_ + 1 < stages.size() ? Verdict::open : Verdict::defender;
  if (stage_ == 0) {
    const double slowest = std::max(first_of_challenger_, of_challenger_[0]);
    const double fastest = std::min(first_of_defender_, of_defender_[0]);
    if (slowest < plainly_faster * fastest && !are_short()) return Verdict::challenger;
    // A first call that is plainly faster, with all that it sets up, says that a rank was late in the second
    // one.
    const bool was_late = first_of_challenger_ < plainly_faster * fastest;
    if (time_of(Side::defender) < very_short_seconds) {
      const double best = std::min(first_of_challenger_, of_challenger_[0]);
      return best > hopeless_if_short * fastest ? Verdict::defender : Verdict::open;
    }
    return now > hopeless && !was_late ? Verdict::defender : Verdict::open;
  }
  std::size_t lost = 0;
  for (const double one : of_challenger_) {
    lost += static_cast<std::size_t>(
        std::ranges::count_if(of_defender_, [one](double other) { return one >= other; }));
  }
  const bool is_last = stage_ + 1 == stages.size();
  const bool is_rematch = margin_ > usual_margin;
  const bool is_by_turns = calls_of_turn_ > 1;
  const std::size_t usual = is_by_turns ? most_lost_pairs_of_turns : most_lost_pairs;
  const std::size_t most_lost_by_first = now < plainly_faster ? most_lost_pairs_if_plain : usual;
  const std::size_t most_lost = !is_last ? 0 : is_rematch ? 1 : most_lost_by_first;
  // There are many rematches, so one needs more evidence; so does a decision by two turns of each.
  const double enough = (is_rematch || is_by_turns) && !is_last ? plainly_faster : 1 - margin_;
  if (lost <= most_lost && now < enough) return Verdict::challenger;
  if (is_last && is_challenger_favoured_ && now < 1 - margin_) return Verdict::challenger;
  // One late call does not make a challenger slower.
  const double best = std::ranges::min(of_challenger_) / std::ranges::min(of_defender_);
  return is_last || (now > slower && best > slower) ? Verdict::defender : Verdict::open;
}

}  // namespace stretto
