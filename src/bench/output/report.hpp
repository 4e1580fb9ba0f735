// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "bench/cases/cases.hpp"
#include "bench/cases/options.hpp"
#include "bench/measure/measure.hpp"

namespace stretto::bench {

/// The rank of this process, and the nodes of all ranks.
struct Placement {
  int rank = 0;
  int ranks = 1;
  std::vector<int> ppn;  // ranks of each node, on rank 0 only
};

/// Finds the placement. Collective over MPI_COMM_WORLD.
Placement find_placement();

/// These functions print events on standard output, one JSON object per line, each flushed at once. Only rank
/// 0 may call them. report_ready() is for a job that serves. It lists the MPI library's own algorithms for
/// each collective, in the measured forms.
void report_ready(const Options& usual, const Placement& placement);
void report_start(const Options& options, const std::vector<Case>& cases, const Placement& placement);
/// Reports the first event of a calibration; the others are in bench/calibration/phases/phases.hpp.
void report_calibration(const Options& options, const Placement& placement);
void report_progress(double done, double total);
void report_result(const Case& one, const Result& result);
/// Reports a case that the budget has no time for.
void report_skipped(const Case& one);
void report_error(const std::string& message);
void report_end();
/// Writes events that are already formatted, each with its line end.
void report_lines(const std::string& lines);

}  // namespace stretto::bench
