// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace stretto {

/// What a thread has had of the processor since it began, in seconds.
struct CoreTime {
  double ran = 0;
  double waited = 0;  // it could have run, but another one had its core

  /// Of this thread, by the counters of the kernel. Nothing if it keeps none.
  static CoreTime of_this_thread();

  /// The part of the time since an earlier reading in which it waited for its core, from 0 to 1. Sleep does
  /// not count.
  [[nodiscard]] double waited_since(const CoreTime& earlier) const {
    const double waiting = waited - earlier.waited;
    const double all = ran - earlier.ran + waiting;
    return all > 0 ? waiting / all : 0;
  }
};

/// From here on, what a rank has measured may be others' doing. (An idle machine: less than a hundredth.)
constexpr double busy_from = 0.1;

}  // namespace stretto
