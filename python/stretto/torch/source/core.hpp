// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace stretto_torch {

/// Measures whether the calling thread shares its core. Each thread needs its own object.
class Core {
 public:
  using Clock = std::chrono::steady_clock;

  /// In a shorter time than this, sharing cannot be measured, and the core counts as not shared.
  static constexpr std::chrono::microseconds least{200};

  /// Whether other threads ran, while this thread was ready to run, for more than a quarter of the time since
  /// the last call or the beginning.
  bool is_shared();
  void begin();

 private:
  struct Times {
    Clock::time_point now;
    std::chrono::nanoseconds ready;  // ready but without a core, since the thread began
  };
  static Times times();

  Times last_ = times();
};

}  // namespace stretto_torch
