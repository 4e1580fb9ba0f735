// SPDX-License-Identifier: Apache-2.0
#include "interpose/communicators/learners.hpp"

#include <bit>
#include <mutex>
#include <optional>

#include "interpose/session/session.hpp"
#include "threads/immortal.hpp"

namespace stretto {
namespace {

std::mutex mutex;
std::vector<Learned>& all_learned() {
  static auto& all = make_immortal<std::vector<Learned>>();
  return all;
}

}  // namespace

Learners::Key Learners::key_of(const CallTraits& traits) {
  return {traits.collective, std::bit_floor(traits.bytes), has_root(traits.collective) ? traits.root : 0,
          traits.commutative, traits.in_place};
}

void Learners::conclude(const Topology& topology) const {
  if (session.world_rank != 0) return;
  for (const auto& [key, kind] : learners_) {
    const auto& [collective, bytes, root, commutative, in_place] = key;
    const std::optional<Learner::Outcome> outcome = kind.learner.outcome();
    // A table does not distinguish operations that commute from others.
    if (!outcome || !outcome->is_new || !commutative) continue;
    const CallTraits traits{.collective = collective, .bytes = bytes, .root = root};
    const std::lock_guard lock(mutex);
    all_learned().push_back({.shape = shape_of(traits, topology, Face::blocking),
                             .spec = outcome->spec,
                             .gain = outcome->gain,
                             .seconds = outcome->seconds});
  }
}

std::vector<Learned> learned_so_far() {
  const std::lock_guard lock(mutex);
  return all_learned();
}

}  // namespace stretto
