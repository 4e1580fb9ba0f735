// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "model/instant.hpp"
#include "model/machine.hpp"

namespace stretto {

/// The times at which the first and the last byte of a message are somewhere.
struct Passage {
  Instant begin;
  Instant end;
};

/// Serves one message after another: a rank's port, a node's link, the memory of a node, the fabric.
/// Messages go through several servers, cut-through: the next one begins with the first byte.
class Server {
 public:
  /// Serves a message of this many bytes at `limit`. It came in by `passage` and belongs to a rank.
  Passage pass(const Passage& passage, double bytes, const Limit& limit, int rank) {
    const double wire = limit.bandwidth > 0 ? bytes / limit.bandwidth : 0;
    const double least = limit.message_rate > 0 ? 1 / limit.message_rate : 0;
    if (wire == 0 && least == 0) return passage;
    // A token bucket: the saved bytes count as if the message had begun earlier.
    const double saved_up = limit.burst > 0 && limit.bandwidth > 0 ? limit.burst / limit.bandwidth : 0;
    const Instant base = follow(passage.begin, passage.begin.at() - saved_up, rank);
    const Instant begin = follow(passage.begin, passage.begin.at(), rank);
    free_ = base.after(std::max(wire, least), wire >= least ? Part::wire : Part::overhead);
    rank_ = rank;
    return {begin, later(passage.end, free_)};
  }

  /// The other direction takes this much of its time, from now on.
  void occupy(const Instant& now, double seconds) { free_ = later(free_, now).after(seconds, Part::wire); }

 private:
  /// Returns `ready`, moved to `at`, which is not later, or to when the server is free. A wait for an
  /// earlier message of the same rank is no waiting: that message is the cause.
  [[nodiscard]] Instant follow(const Instant& ready, double at, int rank) const {
    if (free_.at() > at && rank == rank_) return free_;
    const double moved = std::max(at, free_.at());
    if (moved > ready.at()) return ready.after(moved - ready.at(), Part::waiting);
    return moved < ready.at() ? ready.shortened_to(moved) : ready;
  }

  Instant free_;
  int rank_ = -1;
};

}  // namespace stretto
