// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/machine.hpp"
#include "model/plan.hpp"
#include "model/walker.hpp"

namespace stretto {

/// Estimates the time that Predictor predicts, from one segment. This is fast enough for a running job, which
/// compares a few specs on its own network. The first segment is walked. Each further one follows after the
/// time for which it keeps the busiest core, port or link busy, unless the window is too small for that.
[[nodiscard]] double estimate_seconds(const Plan& plan, const WalkedCall& call, const Machine& machine);

}  // namespace stretto
