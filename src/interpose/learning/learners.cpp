// SPDX-License-Identifier: Apache-2.0
#include "interpose/learning/learners.hpp"

#include <vector>

#include "interpose/session/session.hpp"
#include "learn/races/standing.hpp"

namespace stretto {

Learners::~Learners() {
  session.due_races -= due_races_;
}

void Learners::note_due_race() {
  ++due_races_;
  ++session.due_races;
  blocking_calls_ = 0;
  next_agreement_ = 1;
}

void Learners::forget_due_race() {
  --due_races_;
  --session.due_races;
}

void Learners::forget_races() {
  session.due_races -= due_races_;
  due_races_ = 0;
  races_.clear();
}

bool Learners::wants_agreement_on_races() {
  if (due_races_ == 0) return false;
  if (++blocking_calls_ < next_agreement_) return false;
  next_agreement_ = 2 * blocking_calls_;
  return true;
}

Spec Learners::decided_for_another_root(const CallTraits& kind) const {
  const CallTraits first{.collective = kind.collective, .bytes = kind.bytes, .commutative = false};
  for (auto other = learners_.lower_bound(first); other != learners_.end(); ++other) {
    CallTraits from_this_root = other->first;
    if (from_this_root.collective != kind.collective || from_this_root.bytes != kind.bytes) break;
    from_this_root.root = kind.root;
    if (from_this_root != kind) continue;
    const auto& [learner, known] = other->second;
    if (const auto outcome = learner.outcome()) return outcome->spec;
    if (known) return *known;
  }
  return {};
}

double Learners::gain_of_similar(const CallTraits& traits) const {
  std::vector<KnownGain> all;
  for (const auto& [kind, known] : learners_) {
    const std::optional<Learner::Outcome> outcome = known.learner.outcome();
    const bool is_compared = outcome && (outcome->gain > 0 || outcome->spec.is_pass_through());
    if (kind.collective == traits.collective && is_compared)
      all.push_back({.bytes = kind.bytes, .gain = outcome->gain});
  }
  return stretto::gain_of_similar(all, traits.bytes);
}

}  // namespace stretto
