// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cases.hpp"
#include "measure.hpp"
#include "options.hpp"

namespace stretto::bench {

/// Where the ranks run.
struct Placement {
  int rank = 0;
  int ranks = 1;
  std::vector<int> ppn;  // ranks of each node, on rank 0 only
};

/// Collective over MPI_COMM_WORLD.
Placement find_placement();

/// Events on standard output, a JSON object a line, each flushed at once. Only rank 0 may call these.
void report_start(const Options& options, const std::vector<Case>& cases, const Placement& placement);
void report_progress(double done, double total);
void report_result(const Case& one, const Result& result);
/// A case that the budget has no time for.
void report_skipped(const Case& one);
void report_error(const std::string& message);
void report_end();

}  // namespace stretto::bench
