// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>

namespace stretto {

/// The clock by which connections know that something takes too long. A test lets it run ahead, and so sees
/// at once what happens after any time.
class LimitClock {
 public:
  using duration = std::chrono::steady_clock::duration;
  using time_point = std::chrono::steady_clock::time_point;

  static time_point now() { return std::chrono::steady_clock::now() + duration(ahead.load()); }
  static void run_ahead(duration by) { ahead += by.count(); }

 private:
  static inline std::atomic<duration::rep> ahead{0};
};

}  // namespace stretto
