// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

namespace stretto {

/// The processors on which a rank may run, in short: the first one, the last one, and how many.
struct CpuSpan {
  int first = 0;
  int last = -1;
  int count = 0;  // 0: unknown

  bool operator==(const CpuSpan&) const = default;
};

/// Returns the span of the processors on which this thread may run.
CpuSpan own_cpu_span();

/// Whether the ranks that run under one kernel outnumber their processors, as far as the spans tell. True if
/// a span is unknown.
bool are_crowded(std::span<const CpuSpan> of_rank);

}  // namespace stretto
