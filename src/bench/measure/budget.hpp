// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "bench/cases/options.hpp"
#include "bench/measure/measure.hpp"

namespace stretto::bench {

/// Distributes the time of a run (--budget) over its cases by their bytes, because the time that they need
/// grows with these. The time that one case leaves goes to those after it. All ranks get the same answers if
/// they pass the same times.
class Budget {
 public:
  Budget(const Options& options, const std::vector<Case>& cases);

  /// Whether the next case would end in time, judging by those before it. The first case is always measured,
  /// because nothing is known about it.
  bool has_time_for(const Case& next, double elapsed) const;
  /// Returns the seconds that the next case may take.
  double seconds_for(const Case& next, double elapsed) const;
  void note(const Case& one, const std::vector<Result>& results);
  void note_skipped(const Case& one);

 private:
  /// One call of every subject.
  struct Round {
    double bytes = 0.0;
    double seconds = 0.0;
  };

  const Options& options_;
  double bytes_left_ = 0.0;  // of all cases that are still to come
  std::optional<Round> last_;
  double seconds_per_byte_ = 0.0;  // by which longer messages take longer than the last case
};

}  // namespace stretto::bench
