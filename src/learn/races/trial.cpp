// SPDX-License-Identifier: Apache-2.0
#include "learn/races/trial.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <utility>

#include "learn/races/samples.hpp"

namespace stretto {
namespace {

/// A challenger that takes less than this multiple of the defender's time is plainly faster.
constexpr double plainly_faster = 0.8;

/// Returns the magnitude of a length. Empty calls are a magnitude of their own.
int magnitude_of(double bytes) {
  return bytes >= 1 ? std::ilogb(bytes) + 1 : 0;
}

double usual_of(const Trial::Turns& turns) {
  std::vector<double> seconds;
  for (const Trial::Turn& turn : turns) {
    if (turn.is_measure) seconds.push_back(turn.seconds);
  }
  return median(std::move(seconds));
}

double best_of(const Trial::Turns& turns) {
  return turns.empty() ? 0 : std::ranges::min_element(turns, {}, &Trial::Turn::seconds)->seconds;
}

double worst_of(const Trial::Turns& turns) {
  return turns.empty() ? 0 : std::ranges::max_element(turns, {}, &Trial::Turn::seconds)->seconds;
}

bool has_one_measure(const Trial::Turns& turns) {
  return std::ranges::count_if(turns, &Trial::Turn::is_measure) == 1;
}

}  // namespace

Trial::Trial(std::span<const Stage> stages, Side first) : stages_(stages), first_(first) {
  seconds_.resize(stage().turns.size());
  bytes_.resize(stage().turns.size());
}

Trial::Side Trial::side_of(std::size_t turn) const {
  if (turn >= stage().turns.size()) return Side::defender;
  const bool is_challengers = std::tolower(stage().turns[turn]) == 'c';
  const bool is_exchanged = stage_ == 0 && first_ == Side::challenger;
  return is_challengers != is_exchanged ? Side::challenger : Side::defender;
}

void Trial::count(double seconds, double bytes) {
  if (wants_agreement()) return;
  double& of_turn = seconds_[turn_];
  switch (stage().counts) {
    case Stage::Counts::least:
      of_turn = call_ == 0 ? seconds : std::min(of_turn, seconds);
      break;
    case Stage::Counts::others:
      if (call_ > 0) of_turn += seconds / (stage().calls - 1);
      break;
    case Stage::Counts::sum:
      of_turn += std::max(seconds, 0.0);
      break;
  }
  bytes_[turn_] = bytes;
  if (++call_ < stage().calls) return;
  call_ = 0;
  ++turn_;
}

std::vector<double> Trial::figures() const {
  std::vector<double> all = seconds_;
  if (stage().by_bytes) all.insert(all.end(), bytes_.begin(), bytes_.end());
  return all;
}

Trial::Verdict Trial::agree(std::span<const double> agreed) {
  forget_other_turns();
  const std::size_t turns = stage().turns.size();
  for (std::size_t turn = 0; turn < turns; ++turn) {
    Calls& calls = sides_[static_cast<std::size_t>(side_of(turn))];
    calls.number += stage().calls;
    // A clock that jumps measures nothing.
    if (!(agreed[turn] > 0)) continue;
    const bool is_measure = std::islower(stage().turns[turn]) != 0;
    const int magnitude = stage().by_bytes ? magnitude_of(agreed[turns + turn]) : 0;
    calls.turns.push_back({magnitude, agreed[turn], is_measure});
  }
  const Verdict verdict = judge();
  if (verdict == Verdict::open) begin_next_stage();
  return verdict;
}

/// Forgets turns of another kind: times of single calls and of turns of several calls cannot be compared.
void Trial::forget_other_turns() {
  const Stage& last = stages_[last_stage_];
  last_stage_ = stage_;
  if (stage().calls == last.calls && stage().counts == last.counts) return;
  lost_before_ = lost();
  sides_ = {};
}

void Trial::begin_next_stage() {
  ++stage_;
  turn_ = 0;
  seconds_.assign(stage().turns.size(), 0);
  bytes_.assign(stage().turns.size(), 0);
}

/// Returns the ratio of the sides' statistics over all magnitudes in which both have had calls, weighted by
/// the number of calls.
double Trial::compare(Statistic of_defender, Statistic of_challenger) const {
  std::map<int, std::array<Turns, 2>> magnitudes;
  for (const Side side : {Side::defender, Side::challenger}) {
    for (const Turn& turn : of(side).turns)
      magnitudes[turn.magnitude].at(static_cast<std::size_t>(side)).push_back(turn);
  }
  double defenders = 0;
  double challengers = 0;
  for (const auto& [magnitude, sides] : magnitudes) {
    const double defender = of_defender(sides[0]);
    const double challenger = of_challenger(sides[1]);
    if (!(defender > 0 && challenger > 0)) continue;
    const auto turns = static_cast<double>(sides[0].size() + sides[1].size());
    defenders += turns * defender;
    challengers += turns * challenger;
  }
  return defenders > 0 ? challengers / defenders : 0;
}

double Trial::ratio() const {
  return compare(usual_of, usual_of);
}

double Trial::time_of(Side side) const {
  return usual_of(of(side).turns);
}

std::size_t Trial::lost_pairs() const {
  std::size_t lost = 0;
  for (const Turn& one : of(Side::challenger).turns) {
    lost += static_cast<std::size_t>(std::ranges::count_if(of(Side::defender).turns, [&](const Turn& other) {
      return one.is_measure && other.is_measure && one.magnitude == other.magnitude &&
             one.seconds >= other.seconds;
    }));
  }
  return lost;
}

Trial::Verdict Trial::judge() const {
  const double now = ratio();
  const Verdict otherwise = is_last() ? Verdict::defender : Verdict::open;
  if (!(now > 0)) return otherwise;
  // One measure of each side says little, so turns that set things up count as well.
  const bool is_single = has_one_measure(of(Side::defender).turns);
  const std::size_t lost = lost_pairs();
  const double usual = time_of(Side::defender);
  const double at_worst = is_single ? compare(best_of, worst_of) : now;
  if (at_worst < stage().wins_below && usual >= stage().wins_from &&
      lost <= stage().may_lose(now < plainly_faster)) {
    return Verdict::challenger;
  }
  // The challenger cannot win any more, even if it proves to be plainly faster.
  const Stage& last = stages_.back();
  if (stage().calls == last.calls && lost > last.may_lose(true)) return Verdict::defender;
  // One late call does not make the challenger slower.
  const double at_best = compare(best_of, best_of);
  const bool is_short = usual < stage().short_below && stage().loses_above_if_short > 0;
  const double most = is_short ? stage().loses_above_if_short : stage().loses_above;
  // Turns that set things up may also be fast: a link that was idle passes bytes at once.
  return at_best > most && now > (is_single ? 1 : most) ? Verdict::defender : otherwise;
}

double Trial::lost() const {
  const Turns& turns = of(Side::challenger).turns;
  // One late call is no loss.
  const double usual = has_one_measure(turns) ? best_of(turns) : usual_of(turns);
  return lost_before_ + of(Side::challenger).number * std::max(usual - time_of(Side::defender), 0.0);
}

double Trial::lost_after_next_stage() const {
  const double excess = std::min(best_of(of(Side::challenger).turns) - best_of(of(Side::defender).turns),
                                 time_of(Side::challenger) - time_of(Side::defender));
  double calls = 0;
  for (std::size_t turn = 0; turn < stage().turns.size(); ++turn) {
    if (side_of(turn) == Side::challenger) calls += stage().calls;
  }
  return lost() + calls * std::max(excess, 0.0);
}

double Trial::calls_lost(Side loser) const {
  const double slower = loser == Side::challenger ? ratio() : ratio() > 0 ? 1 / ratio() : 0;
  return of(loser).number * std::max(slower - 1, 0.0);
}

}  // namespace stretto
