// SPDX-License-Identifier: Apache-2.0
#include "learn/races/streaming_race.hpp"

#include <algorithm>
#include <utility>

namespace stretto {

void StreamingRace::count(double seconds) {
  if (quiet_ > 0) {
    --quiet_;
    return;
  }
  // A clock that jumps measures nothing.
  double& best = best_.at(turn_ % ways_);
  if (is_warm_ && seconds > 0) best = std::min(best, seconds);
  ++turn_;
  if (turn_ < (is_warm_ ? rounds * ways_ : ways_)) return;
  turn_ = 0;
  if (is_warm_) decide();
  is_warm_ = true;
}

void StreamingRace::decide() {
  const std::array<double, ways> best = std::exchange(best_, none);
  const auto* const fastest = std::min_element(best.begin(), best.begin() + ways_);
  const auto way = static_cast<Way>(fastest - best.begin());
  const bool is_faster = *fastest < margin * best.at(static_cast<std::size_t>(winner_));
  if (is_faster && suspect_ != way) {
    suspect_ = way;
    return;  // once more
  }
  if (is_faster) {
    winner_ = way;
    rest_.begin_anew();
  }
  suspect_ = winner_;
  // The calls of the losers, as if they were by the winner.
  const double winners = best.at(static_cast<std::size_t>(winner_));
  double lost = 0;
  for (std::size_t i = 0; i < ways_; ++i) {
    if (best.at(i) < never) lost += static_cast<double>(rounds) * (best.at(i) / winners - 1);
  }
  quiet_ = rest_.after(lost);
}

}  // namespace stretto
