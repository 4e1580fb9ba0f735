// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "verify/symbolic_run.hpp"
#include "verify/verify.hpp"

namespace stretto {

/// Compares the results of a run with those of the collective, block by block. Sets the proof's error if one
/// is wrong, and whether results keep rank order and are those of the fixed tree.
void check_results(const Problem& problem, std::span<const Schedule> schedules, SymbolicRun& run,
                   Proof& proof);

}  // namespace stretto
