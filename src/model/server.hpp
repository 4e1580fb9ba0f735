// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

#include "model/instant.hpp"
#include "model/machine.hpp"

namespace stretto {

/// The times at which the first and the last byte of a message are at some place.
struct Interval {
  Instant begin;
  Instant end;
};

/// Serves one message after another: a rank's port, a node's link, the memory of a node, the fabric.
/// Messages go through several servers, cut-through: the next one begins with the first byte.
class Server {
 public:
  /// Serves a message of this many bytes at `limit`. The message arrives in `interval` and belongs to `rank`.
  Interval pass(const Interval& interval, double bytes, const Limit& limit, int rank) {
    const double wire = limit.bandwidth > 0 ? bytes / limit.bandwidth : 0;
    const double least = limit.message_rate > 0 ? 1 / limit.message_rate : 0;
    if (wire == 0 && least == 0) return interval;
    // A token bucket: the saved bytes count as if the message had begun earlier.
    const double saved_up = limit.burst > 0 && limit.bandwidth > 0 ? limit.burst / limit.bandwidth : 0;
    const Instant base = follow(interval.begin, interval.begin.at() - saved_up, rank);
    const Instant begin = follow(interval.begin, interval.begin.at(), rank);
    free_ = base.after(std::max(wire, least), wire >= least ? Part::wire : Part::overhead);
    rank_ = rank;
    return {begin, later(interval.end, free_)};
  }

  /// Lets the other direction take `seconds` of the server's time, from now on.
  void occupy(const Instant& now, double seconds) { free_ = later(free_, now).after(seconds, Part::wire); }

 private:
  /// Returns `ready`, moved to `at`, which is not later, or to the time when the server is free. A wait for
  /// an earlier message of the same rank does not count as waiting: that message is the cause.
  [[nodiscard]] Instant follow(const Instant& ready, double at, int rank) const {
    if (free_.at() > at && rank == rank_) return free_;
    const double moved = std::max(at, free_.at());
    if (moved > ready.at()) return ready.after(moved - ready.at(), Part::waiting);
    return moved < ready.at() ? ready.shortened_to(moved) : ready;
  }

  Instant free_;
  int rank_ = -1;
};

/// The bandwidth of a memory, which cores share. They use it out of order: the walker lets a core work for
/// some time before another one begins. So time is cut into slots, and each use takes what is left in them.
class SharedBandwidth {
 public:
  /// `slot`: the length of a slot in seconds. In a slot, uses do not wait for each other.
  SharedBandwidth(double bandwidth, double slot) : bandwidth_(bandwidth), slot_(slot) {}

  Interval pass(const Interval& interval, double bytes) {
    const double least = bytes / bandwidth_;
    double at = interval.begin.at();
    auto slot = static_cast<std::size_t>(at / slot_);
    for (double left = least; left > 0; ++slot) {
      slot = next_free(slot);
      const double begin = std::max(at, static_cast<double>(slot) * slot_);
      const double end = static_cast<double>(slot + 1) * slot_;
      const double taken = std::clamp(end - begin, 0.0, std::min(left, slot_ - used_[slot]));
      used_[slot] += taken;
      if (used_[slot] >= full * slot_) next_[slot] = slot + 1;
      left -= taken;
      at = begin + taken;
    }
    const double waited = std::max(at - interval.begin.at() - least, 0.0);
    return {interval.begin,
            later(interval.end, interval.begin.after(least, Part::wire).after(waited, Part::waiting))};
  }

 private:
  static constexpr double full = 1 - 1e-9;

  /// Returns the first slot from `slot` on that is not full.
  std::size_t next_free(std::size_t slot) {
    std::size_t free = slot;
    for (;; free = next_[free]) {
      if (free >= next_.size()) {
        const std::size_t begin = next_.size();
        next_.resize(free + 1);
        std::iota(next_.begin() + static_cast<std::ptrdiff_t>(begin), next_.end(), begin);
        used_.resize(free + 1);
      }
      if (next_[free] == free) break;
    }
    for (std::size_t on = slot; on != free;) on = std::exchange(next_[on], free);
    return free;
  }

  double bandwidth_;
  double slot_;
  std::vector<double> used_;       // [slot] seconds
  std::vector<std::size_t> next_;  // [slot] itself unless it is full; else a later one
};

}  // namespace stretto
