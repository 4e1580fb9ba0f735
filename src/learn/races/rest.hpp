// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

namespace stretto {

/// The rests between a comparison and its repetition, in calls. Each rest is twice as long as the one before,
/// and long enough that the loser's calls stay below a share of all calls.
class Rest {
 public:
  struct Limits {
    double share;           // of all calls that the loser's may cost
    std::uint64_t first;    // calls
    std::uint64_t longest;  // calls at which doubling ends
    std::uint64_t most;     // calls, whatever the loser costs
  };
  explicit constexpr Rest(const Limits& limits) : limits_(limits), next_(limits.first) {}

  /// Returns the number of calls in the next rest. `lost`: the cost of the loser's calls, in calls by the
  /// winner.
  std::uint64_t after(double lost) {
    const double paid = std::clamp(lost / limits_.share, 0.0, static_cast<double>(limits_.most));
    const std::uint64_t rest = std::max(next_, static_cast<std::uint64_t>(paid));
    next_ = std::min(2 * next_, limits_.longest);
    return rest;
  }
  /// Makes the next rest as short as the first one.
  void begin_anew() { next_ = limits_.first; }

 private:
  Limits limits_;
  std::uint64_t next_;
};

}  // namespace stretto
