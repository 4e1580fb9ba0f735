// SPDX-License-Identifier: Apache-2.0
#include "learn/races/short_race.hpp"

#include "learn/races/samples.hpp"

namespace stretto {

void ShortRace::count(double seconds) {
  if (turn_ == 2 * blocks) return;
  std::vector<double>& of_side = seconds_.at(turn_ % 2);
  if (call_ == 0) of_side.push_back(0);
  // A clock that jumps measures nothing.
  if (seconds > 0) of_side.back() += seconds;
  if (++call_ < calls_of_block) return;
  call_ = 0;
  if (turn_ < 2) of_side.clear();
  ++turn_;
}

ShortRace::Figures ShortRace::figures() const {
  return {median(seconds_[0]), median(seconds_[1])};
}

void ShortRace::agree(const Figures& maxima) {
  const auto [native, spec] = maxima;
  const bool is_measured = native > 0 && spec > 0;
  winner_ = is_measured && spec < margin * native ? Side::spec : Side::native;
  // The calls of the loser, as if they were by the winner.
  const double slower = is_measured ? std::max(native, spec) / std::min(native, spec) - 1 : 1;
  const double lost = static_cast<double>(calls_of_block * blocks) * (winner_ == Side::spec ? 0 : slower);
  quiet_ = rest_.after(lost);
  turn_ = 0;
  call_ = 0;
  for (auto& of_side : seconds_) of_side.clear();
}

}  // namespace stretto
