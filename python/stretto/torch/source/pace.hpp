// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <utility>

namespace stretto_torch {

/// The time that the completing thread sleeps between polls, while it shares cores with computations. A call
/// has a window of segments in flight, so it continues if each message is seen before the next few arrive.
/// Half of the time between arrivals is soon enough for that. If nothing arrives, since a rank has not called
/// yet, the thread sleeps for an eighth of the time without arrivals, which adds little to that time. Polling
/// more often (every 20 to 200 µs) cost ranks that still computed a tenth of a step. An immediate second poll
/// after a successful one cost a fiftieth. Polling half as often left links idle.
class Pace {
 public:
  using Clock = std::chrono::steady_clock;

  /// To be called when a new work has begun. Its messages may be short and few.
  void hurry() {
    gap_ = shortest;
    last_ = Clock::now();
    after_pause_ = false;
  }

  /// To be called after a successful poll. A single pause, such as that of a late rank, says nothing about
  /// the time between the next messages; two pauses in a row do.
  void fruitful() {
    const auto now = Clock::now();
    const auto gap = now - std::exchange(last_, now);
    after_pause_ = !after_pause_ && gap > std::max<Clock::duration>(8 * gap_, longest);
    gap_ = after_pause_ ? shortest : (3 * gap_ + gap) / 4;
  }

  /// Returns the time until the next poll.
  [[nodiscard]] std::chrono::nanoseconds nap() const {
    const auto idle = Clock::now() - last_;
    return std::clamp<std::chrono::nanoseconds>(std::max(gap_ / 2, idle / 8), shortest, longest);
  }

 private:
  static constexpr std::chrono::microseconds shortest{20};
  static constexpr std::chrono::microseconds longest{5000};

  Clock::duration gap_ = shortest;
  Clock::time_point last_ = Clock::now();
  bool after_pause_ = false;
};

}  // namespace stretto_torch
