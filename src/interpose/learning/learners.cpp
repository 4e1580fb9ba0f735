// SPDX-License-Identifier: Apache-2.0
#include "interpose/learning/learners.hpp"

#include <bit>
#include <optional>

#include "interpose/session/session.hpp"

namespace stretto {
Learners::Key Learners::key_of(const CallTraits& traits) {
  return {.collective = traits.collective,
          .bytes = std::bit_floor(traits.bytes),
          .commutative = traits.commutative,
          .in_place = traits.in_place,
          .has_dominant_node = traits.has_dominant_node,
          .root = has_root(traits.collective) ? traits.root : 0};
}

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

Spec Learners::decided_for_another_root(const Key& key) const {
  Key first = key;
  first.root = 0;
  for (auto other = learners_.lower_bound(first); other != learners_.end(); ++other) {
    Key its = other->first;
    its.root = 0;
    if (its != first) break;
    const auto& [learner, known] = other->second;
    if (const auto outcome = learner.outcome()) return outcome->spec;
    if (known) return *known;
  }
  return {};
}

}  // namespace stretto
