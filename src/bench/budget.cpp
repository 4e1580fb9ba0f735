// SPDX-License-Identifier: Apache-2.0
#include "budget.hpp"

#include <algorithm>

#include "median.hpp"

namespace stretto::bench {
namespace {

constexpr double warm_ups = 2;  // of long calls, in repetitions

}  // namespace

Budget::Budget(const Options& options, std::size_t cases) : options_(options), cases_left_(cases) {}

bool Budget::has_time_for(const Case& next, double elapsed) const {
  if (options_.budget <= 0 || seconds_per_byte_ <= 0) return true;
  const auto repetitions =
      static_cast<double>(std::min(options_.repetitions, Measurement::least_repetitions));
  // By the bytes: too long rather than too short, since a part of the time is latency.
  const double needed = (repetitions + warm_ups) * seconds_per_byte_ * static_cast<double>(next.bytes);
  return elapsed + needed <= options_.budget;
}

double Budget::seconds_for_next(double elapsed) const {
  if (options_.budget <= 0) return options_.max_seconds;
  const double share = (options_.budget - elapsed) / static_cast<double>(cases_left_);
  return std::clamp(share, 0.0, options_.max_seconds);
}

void Budget::note(const Case& one, const std::vector<Result>& results) {
  --cases_left_;
  double round = 0;
  for (const Result& result : results) round += median(result.seconds);
  seconds_per_byte_ = round / static_cast<double>(one.bytes);
}

}  // namespace stretto::bench
