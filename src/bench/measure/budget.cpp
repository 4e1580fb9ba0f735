// SPDX-License-Identifier: Apache-2.0
#include "bench/measure/budget.hpp"

#include <algorithm>

#include "bench/measure/median.hpp"

namespace stretto::bench {
namespace {

constexpr double warm_ups = 1;            // of long calls, in repetitions
constexpr double least_share = 1.0 / 50;  // of the time left, for a case of hardly any bytes

}  // namespace

Budget::Budget(const Options& options, const std::vector<Case>& cases) : options_(options) {
  for (const Case& one : cases) bytes_left_ += static_cast<double>(one.bytes);
}

bool Budget::has_time_for(const Case& next, double elapsed) const {
  if (options_.budget <= 0 || !last_) return true;
  const auto repetitions =
      static_cast<double>(std::min(options_.repetitions, Measurement::least_repetitions));
  const double seconds =
      last_->seconds + seconds_per_byte_ * (static_cast<double>(next.bytes) - last_->bytes);
  return elapsed + (repetitions + warm_ups) * seconds <= options_.budget;
}

double Budget::seconds_for(const Case& next, double elapsed) const {
  if (options_.budget <= 0) return options_.max_seconds;
  if (bytes_left_ <= 0) return std::clamp(options_.budget - elapsed, 0.0, options_.max_seconds);  // a barrier
  const double share = std::max(least_share, static_cast<double>(next.bytes) / bytes_left_);
  return std::clamp(share * (options_.budget - elapsed), 0.0, options_.max_seconds);
}

void Budget::note_skipped(const Case& one) {
  bytes_left_ -= static_cast<double>(one.bytes);
}

void Budget::note(const Case& one, const std::vector<Result>& results) {
  bytes_left_ -= static_cast<double>(one.bytes);
  Round round{static_cast<double>(one.bytes), 0};
  for (const Result& result : results) round.seconds += median(result.seconds);
  // A line through two sizes separates the latency from the time of bytes. With one size, all of the time may
  // be that of bytes.
  const Round before = last_ && last_->bytes < round.bytes ? *last_ : Round{};
  if (round.bytes > before.bytes)
    seconds_per_byte_ = std::max(0.0, (round.seconds - before.seconds) / (round.bytes - before.bytes));
  last_ = round;
}

}  // namespace stretto::bench
