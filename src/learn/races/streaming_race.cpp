// SPDX-License-Identifier: Apache-2.0
#include "learn/races/streaming_race.hpp"

#include <utility>

namespace stretto {

void StreamingRace::count(double seconds) {
  if (quiet_ > 0) {
    --quiet_;
    return;
  }
  trial_.count(seconds);
  if (!trial_.wants_agreement()) return;
  const Trial::Verdict verdict = trial_.agree(trial_.figures());
  if (verdict != Trial::Verdict::open) end_trial(verdict == Trial::Verdict::challenger);
}

void StreamingRace::end_trial(bool challenger_won) {
  calls_lost_ += trial_.calls_lost(challenger_won ? Trial::Side::defender : Trial::Side::challenger);
  if (challenger_won) {
    std::swap(winner_, challenger_);
    rest_.begin_anew();
  }
  do {
    challenger_ = static_cast<Copying>((static_cast<std::size_t>(challenger_) + 1) % ways_);
  } while (challenger_ == winner_);
  trial_ = Trial(policies::streaming);
  if (++trials_ < ways_ - 1) return;
  trials_ = 0;
  quiet_ = rest_.after(std::exchange(calls_lost_, 0));
}

}  // namespace stretto
