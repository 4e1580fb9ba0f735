// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <utility>

namespace stretto_torch {

/// How long the thread that looks after works sleeps between two looks, beside computations whose cores it
/// shares. A call keeps a window of segments under way, so it goes on if each message is seen before the next
/// few have come: half of the time between those that came is soon enough. Where nothing comes, since a rank
/// has not called yet, an eighth of the time that it has been so adds little to it. To look more often (each
/// 20 to 200 µs) took the ranks that still computed a tenth of a step; to look once more at once after one
/// that has found something, a fiftieth; to look at the whole of that time, with half as many looks, left
/// links idle.
class Pace {
 public:
  using Clock = std::chrono::steady_clock;

  /// A new work, whose messages may be short and few.
  void hurry() {
    gap_ = shortest;
    last_ = Clock::now();
    after_pause_ = false;
  }

  /// A look has found something. A pause, as of a rank that comes late, says nothing of the time between the
  /// messages that follow; two such times in turn do.
  void fruitful() {
    const auto now = Clock::now();
    const auto gap = now - std::exchange(last_, now);
    after_pause_ = !after_pause_ && gap > std::max<Clock::duration>(8 * gap_, longest);
    gap_ = after_pause_ ? shortest : (3 * gap_ + gap) / 4;
  }

  /// Until the next look.
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
