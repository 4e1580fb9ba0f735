// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>

namespace stretto {

/// Counts the looks of a thread that waits for shared memory and finds nothing, and says when something else
/// is due: now and then the MPI library needs its turn, and, much more seldom, a look whether those that are
/// waited for still live.
class VainLooks {
 public:
  /// Counts a look. Returns whether the library's turn has come.
  bool count() { return ++looks_ % looks_between == 0; }

  /// Whether to look for ranks that have ended. To be asked when it is the library's turn.
  bool is_time_for_peers() {
    const auto now = Clock::now();
    if (now < next_peers_) return false;
    next_peers_ = now + interval;
    return true;
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t looks_between = 64;
  static constexpr std::chrono::milliseconds interval{100};

  std::size_t looks_ = 0;
  Clock::time_point next_peers_{};
};

}  // namespace stretto
