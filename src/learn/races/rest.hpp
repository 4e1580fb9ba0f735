// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

namespace stretto {

/// Calls between a comparison and its repetition: twice as many each time, and so many that the calls of the
/// loser stay below a share of all calls.
class Rest {
 public:
  struct Limits {
    double share;           // of all calls that the loser's may be
    std::uint64_t first;    // calls
    std::uint64_t longest;  // what doubling ends at
    std::uint64_t most;     // whatever the loser costs
  };
  explicit constexpr Rest(const Limits& limits) : limits_(limits), next_(limits.first) {}

  /// Returns the calls of the next rest. `lost`: what the loser's calls cost, in calls by the winner.
  std::uint64_t after(double lost) {
    const double paid = std::clamp(lost / limits_.share, 0.0, static_cast<double>(limits_.most));
    const std::uint64_t rest = std::max(next_, static_cast<std::uint64_t>(paid));
    next_ = std::min(2 * next_, limits_.longest);
    return rest;
  }
  /// The next rest is as short as the first one.
  void begin_anew() { next_ = limits_.first; }

 private:
  Limits limits_;
  std::uint64_t next_;
};

}  // namespace stretto
