// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "learn/races/learner.hpp"
#include "select/claims.hpp"

namespace stretto {

/// Returns the learner for a kind of calls on which these claims are made (all_claims()). The first one with
/// a spec is the standing choice. `native` challenges it, and so do the specs of the model, or of the rule
/// that a duel of an earlier job has replaced.
Learner make_learner(std::span<const Claim> claims);

/// What calls of a kind have shown about the MPI library's own ones.
struct KnownGain {
  std::size_t bytes = 0;
  double gain = 0;  // their time as a multiple of Stretto's; 0: they are faster
};

/// Returns the same for calls of another length, by the kind whose length is most similar; 0 if nothing is
/// known.
double gain_of_similar(std::span<const KnownGain> known, std::size_t bytes);

}  // namespace stretto
