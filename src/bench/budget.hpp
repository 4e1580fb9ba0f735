// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "measure.hpp"
#include "options.hpp"

namespace stretto::bench {

/// How the time that a run may take (--budget) is spread over its cases. What one leaves goes to those after
/// it. All ranks get the same answers when they tell the same times.
class Budget {
 public:
  Budget(const Options& options, std::size_t cases);

  /// Whether the next case would end in time, as far as the one before it tells. The first one is never left
  /// out: nothing is known of it.
  bool has_time_for(const Case& next, double elapsed) const;
  /// Seconds that it may take.
  double seconds_for_next(double elapsed) const;
  void note(const Case& one, const std::vector<Result>& results);
  void note_skipped() { --cases_left_; }

 private:
  const Options& options_;
  std::size_t cases_left_;
  double seconds_per_byte_ = 0.0;  // of a call of every subject, in the case before
};

}  // namespace stretto::bench
