// SPDX-License-Identifier: Apache-2.0
#include "learn/races/length_race.hpp"

#include <utility>

#include "learn/races/samples.hpp"

namespace stretto {

void LengthRace::count(double bytes, double seconds) {
  if (race_.quiet() == 0) {
    // If the ranks could not agree on lengths, they will try again.
    if (looked_.empty()) race_.count(seconds, bytes);
    return;
  }
  looked_.push_back(bytes);
  race_.pass();
}

bool LengthRace::wants_agreement() const {
  return looked_.empty() ? race_.wants_agreement() : race_.quiet() == 0;
}

std::vector<double> LengthRace::figures() const {
  return looked_.empty() ? race_.figures() : looked_;
}

void LengthRace::agree(std::span<const double> agreed) {
  if (looked_.empty()) return race_.agree(agreed);
  looked_.clear();
  usual_bytes_ = median({agreed.begin(), agreed.end()});
}

void LengthRace::propose(Spec spec) {
  usual_bytes_ = -1;
  spec_ = std::move(spec);
  if (spec_.is_pass_through()) race_.leave_out();
}

}  // namespace stretto
