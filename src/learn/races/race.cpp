// SPDX-License-Identifier: Apache-2.0
#include "learn/races/race.hpp"

namespace stretto {

void Race::agree(std::span<const double> agreed) {
  const Trial::Verdict verdict = trial_.agree(agreed);
  if (verdict == Trial::Verdict::open) return;
  winner_ = verdict == Trial::Verdict::challenger ? Side::challenger : Side::defender;
  // The defender's calls take no longer than without a challenger.
  end_trial(winner_ == Side::challenger ? 0 : trial_.calls_lost(Side::challenger));
}

void Race::leave_out() {
  winner_ = Side::defender;
  end_trial(0);
}

void Race::end_trial(double calls_lost) {
  quiet_ = rest_.after(calls_lost);
  trial_ = Trial(stages_);
}

}  // namespace stretto
