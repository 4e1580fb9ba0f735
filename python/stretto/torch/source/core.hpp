// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace stretto_torch {

/// What the calling thread has of the core on which it runs; each thread has its own.
class Core {
 public:
  using Clock = std::chrono::steady_clock;

  /// In a shorter time nothing is seen: the core counts as not shared.
  static constexpr std::chrono::microseconds least{200};

  /// Whether others had it for more than a quarter of the time since this was last asked, or begun, though
  /// this thread was ready to run.
  bool is_shared();
  void begin();

 private:
  struct Times {
    Clock::time_point now;
    std::chrono::nanoseconds ready;  // without a core, since the thread began
  };
  static Times times();

  Times last_ = times();
};

}  // namespace stretto_torch
