// SPDX-License-Identifier: Apache-2.0
#include "learn/races/standing.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace stretto {
namespace {

/// What is known about a standing choice from this source.
Learner::Standing standing_of(const Claim& claim) {
  switch (claim.source) {
    case Source::table:  // it was measured on this cluster, and the user wants it
      return Learner::Standing::proven;
    case Source::learnt:
      // Without a time, only a duel shows what it is worth.
      return claim.seconds > 0 ? Learner::Standing::decided : Learner::Standing::proven;
    case Source::model:
      return Learner::Standing::modelled;
    default:
      return Learner::Standing::presumed;
  }
}

}  // namespace

Learner make_learner(std::span<const Claim> claims) {
  const auto standing =
      std::ranges::find_if(claims, [](const Claim& claim) { return claim.spec.has_value(); });
  std::vector<Candidate> others = challengers_of(claims, true);
  others.insert(others.begin(), Candidate{});  // `native`
  const Learner::Standing known = standing_of(*standing);
  Learner learner(*standing->spec, known, others);
  if (known == Learner::Standing::decided) learner.expect(standing->seconds, standing->bytes);
  return learner;
}

/// What the library loses by each message counts less in much longer calls.
double gain_of_similar(std::span<const KnownGain> known, std::size_t bytes) {
  constexpr double alike = 4;  // times as long
  double nearest = std::numeric_limits<double>::infinity();
  double gain = 0;
  for (const KnownGain& one : known) {
    const auto [shorter, longer] = std::minmax(one.bytes, bytes);
    const double distance =
        static_cast<double>(longer) / static_cast<double>(std::max<std::size_t>(shorter, 1));
    if (distance >= nearest) continue;
    nearest = distance;
    gain = one.gain / std::sqrt(std::max(distance / alike, 1.0));
  }
  return gain;
}

}  // namespace stretto
