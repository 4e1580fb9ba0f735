// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "learn/races/learner.hpp"
#include "select/claims.hpp"

namespace stretto {

/// Returns the learner for a kind of calls on which these claims are made (all_claims()). The first one with
/// a spec is the standing choice. `native` challenges it, and so do the specs of the model, or of the rule
/// that a duel of an earlier job has replaced.
Learner make_learner(std::span<const Claim> claims);

}  // namespace stretto
