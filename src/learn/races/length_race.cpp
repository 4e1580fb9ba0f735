// SPDX-License-Identifier: Apache-2.0
#include "learn/races/length_race.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "learn/races/samples.hpp"

namespace stretto {
namespace {

/// A spec must be faster by this to be worth it.
constexpr double margin = 0.97;
/// A spec that takes so many times as long in the trial is given up.
constexpr double hopeless = 1.5;

/// Empty calls are a class of their own.
int class_of(double bytes) {
  return bytes >= 1 ? std::ilogb(bytes) + 1 : 0;
}

}  // namespace

std::size_t LengthRace::length_of_stage() const {
  if (stage_ == Stage::look) return calls_of_look;
  return stage_ == Stage::trial ? calls_of_trial : calls_of_race;
}

std::size_t LengthRace::calls_of_turn() const {
  return stage_ == Stage::trial ? calls_of_trial / 4 : calls_of_block;
}

/// Turns are n s s n n s s n ..., so that a slow change of conditions disturbs both alike.
LengthRace::Side LengthRace::side_of(std::size_t call) const {
  const std::size_t turn = call / calls_of_turn() % 4;
  return turn == 0 || turn == 3 ? Side::native : Side::spec;
}

/// The first call of a turn is disturbed by what the other side has left behind. In the trial it also sets up
/// schedules and connections.
bool LengthRace::is_counted(std::size_t call) const {
  return call % calls_of_turn() != 0;
}

const Spec& LengthRace::next() const {
  if (is_quiet() || stage_ == Stage::look) return winner_;
  return side_of(calls_.size()) == Side::spec ? spec_ : native_;
}

void LengthRace::count(double bytes, double seconds) {
  // A clock that jumps measures nothing.
  if (calls_.size() < length_of_stage()) calls_.push_back({bytes, std::max(seconds, 0.0)});
}

LengthRace::Figures LengthRace::figures() const {
  Figures all{};
  for (std::size_t i = 0; i < calls_.size(); ++i) {
    all.at(2 * i) = calls_[i].bytes;
    all.at(2 * i + 1) = calls_[i].seconds;
  }
  return all;
}

void LengthRace::agree(const Figures& maxima) {
  if (stage_ == Stage::look) {
    std::vector<double> bytes;
    for (std::size_t i = 0; i < calls_of_look; ++i) bytes.push_back(maxima.at(2 * i));
    usual_bytes_ = median(bytes);
    stage_ = Stage::trial;
    calls_.clear();
    return;
  }
  const double slower = slowdown(maxima);
  if (stage_ == Stage::race || !(slower > 0) || slower > hopeless) {
    decide(slower);
  } else {
    stage_ = Stage::race;
    calls_.clear();
  }
}

void LengthRace::propose(Spec spec) {
  spec_ = std::move(spec);
  if (!spec_.is_pass_through()) return;
  winner_ = {};
  rest_for(0);
}

/// Returns the time of all calls of a stage by the spec, as a multiple of their time by `native`; 0 if the
/// two sides have had no calls of one class.
double LengthRace::slowdown(const Figures& maxima) const {
  std::map<int, std::array<std::vector<double>, 2>> classes;
  for (std::size_t i = 0; i < length_of_stage(); ++i) {
    const double seconds = maxima.at(2 * i + 1);
    if (!is_counted(i) || !(seconds > 0)) continue;
    classes[class_of(maxima.at(2 * i))].at(static_cast<std::size_t>(side_of(i))).push_back(seconds);
  }
  std::array<double, 2> seconds{};
  for (auto& [bytes, sides] : classes) {
    auto& [native, spec] = sides;
    if (native.empty() || spec.empty()) continue;
    const auto calls = static_cast<double>(native.size() + spec.size());
    seconds[0] += calls * median(native);
    seconds[1] += calls * median(spec);
  }
  return seconds[0] > 0 ? seconds[1] / seconds[0] : 0;
}

void LengthRace::decide(double slowdown) {
  const bool is_measured = slowdown > 0;
  const bool is_faster = is_measured && slowdown < margin;
  winner_ = is_faster ? spec_ : native_;
  const double lost = is_measured && !is_faster ? std::max(slowdown - 1, 0.0) : 0;
  rest_for(lost * (calls_of_trial + calls_of_race) / 2);
}

/// `lost_calls`: what the loser's calls cost, as if these were calls of the winner.
void LengthRace::rest_for(double lost_calls) {
  quiet_ = rest_.after(lost_calls);
  stage_ = Stage::look;
  calls_.clear();
}

}  // namespace stretto
