// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "bench/cases/options.hpp"
#include "bench/measure/measure.hpp"

namespace stretto::bench {

/// How the time that a run may take (--budget) is spread over its cases: by their bytes, as is the time that
/// they need. What one leaves goes to those after it. All ranks get the same answers when they tell the same
/// times.
class Budget {
 public:
  Budget(const Options& options, const std::vector<Case>& cases);

  /// Whether the next case would end in time, as far as those before it tell. The first one is never left
  /// out: nothing is known of it.
  bool has_time_for(const Case& next, double elapsed) const;
  /// Seconds that it may take.
  double seconds_for(const Case& next, double elapsed) const;
  void note(const Case& one, const std::vector<Result>& results);
  void note_skipped(const Case& one);

 private:
  /// A call of every subject.
  struct Round {
    double bytes = 0.0;
    double seconds = 0.0;
  };

  const Options& options_;
  double bytes_left_ = 0.0;  // of all cases that have not been noted
  std::optional<Round> last_;
  double seconds_per_byte_ = 0.0;  // more than the last one, for longer messages
};

}  // namespace stretto::bench
