// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/machine.hpp"
#include "model/plan.hpp"
#include "model/walker.hpp"

namespace stretto {

/// Estimates what Predictor predicts, from one segment: fast enough for a running job, which compares a few
/// specs on its own network. The first segment is walked. Each further one follows at the distance that the
/// busiest core, port or link needs for it, unless the window is too small for that.
[[nodiscard]] double estimate_seconds(const Plan& plan, const WalkedCall& call, const Machine& machine);

}  // namespace stretto
