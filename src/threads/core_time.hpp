// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace stretto {

/// The time that a thread has had on the processor since it began, in seconds.
struct CoreTime {
  double ran = 0;
  double waited = 0;  // it could have run, but another thread had its core

  /// Returns this thread's times by the counters of the kernel; 0 if the kernel has none.
  static CoreTime of_this_thread();

  /// Returns the part (0 to 1) of the time since an earlier reading in which the thread waited for its core.
  /// Sleep does not count.
  [[nodiscard]] double waited_since(const CoreTime& earlier) const {
    const double waiting = waited - earlier.waited;
    const double all = ran - earlier.ran + waiting;
    return all > 0 ? waiting / all : 0;
  }
};

/// From this part on, other programs may have influenced what a rank has measured. (On an idle machine it is
/// less than a hundredth.)
constexpr double busy_from = 0.1;

}  // namespace stretto
