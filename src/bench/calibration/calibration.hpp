// SPDX-License-Identifier: Apache-2.0
// Measures a cluster for the models (docs/formats.md, machine files). `stretto calibrate` fits the models to
// these figures.
#pragma once

#include "bench/cases/options.hpp"
#include "bench/output/report.hpp"

namespace stretto::bench {

/// Collective over MPI_COMM_WORLD. Throws std::invalid_argument if the time is too short to measure anything.
void calibrate(const Options& options, const Placement& placement);

}  // namespace stretto::bench
