// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "verify/symbolic_run.hpp"
#include "verify/symmetry.hpp"
#include "verify/verify.hpp"

namespace stretto {

/// Compares the results of a run with those of the collective, block by block. Sets the proof's error if one
/// is wrong, and whether results keep rank order and are those of the fixed tree. Neither is known of ranks
/// that stand for others.
void check_results(const Problem& problem, const Symmetry& symmetry, SymbolicRun& run, Proof& proof);

}  // namespace stretto
