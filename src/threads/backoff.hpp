// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sched.h>

#include <algorithm>
#include <chrono>

#include "threads/time_slice.hpp"

namespace stretto {

/// Waits while nothing arrives. The first few polls without success are repeated at once, since a message in
/// flight takes microseconds. After that, each poll is followed by a yield of the processor. If ranks
/// outnumber cores, the rank that this one waits for may need this core, and spinning costs several-fold.
/// Otherwise a yield returns within a microsecond. A yield that takes longer shows that another thread
/// computes on this core. Then the thread asks for short slices until the wait is over, and yields after each
/// poll, because its slices are taken from that computation (4 % of a step that is all computation, with
/// eight polls in each).
///
/// If each rank has a core, the thread that computes here does not belong to a rank that this one waits for.
/// A yield gives it a whole slice of some milliseconds, in which calls of microseconds stand still. So this
/// thread polls for as long as the last yield took before it yields again: it never loses more than twice
/// what it must.
///
/// Rejected: sleeping, whose wake-up of 50 µs and more leaves the links idle, and which does not get the
/// processor sooner beside a computation; sleeping until a socket has data, which is not faster and does
/// not see shared memory; blocking in MPI_Wait, which spins inside MPICH and cannot watch several segments
/// at once. docs/notebook.md has figures.
class Backoff {
 public:
  /// `looks`: the number of waits that return at once.
  explicit Backoff(int looks = usual_looks) : looks_before_yield_(looks) {}
  Backoff(const Backoff&) = delete;
  Backoff& operator=(const Backoff&) = delete;
  ~Backoff() {
    if (asked_) ask_for_usual_slices();
  }

  void wait() {
    if (has_short_slices()) {
      sched_yield();
      return;
    }
    if (looks_ < looks_before_yield_) {
      ++looks_;
      return;
    }
    const auto began = Clock::now();
    if (!cores_are_crowded && patience > longest_free_yield) {
      if (!polls_) polls_since_ = began;
      polls_ = true;
      if (began - polls_since_ < patience) return;
    }
    sched_yield();
    const auto taken = Clock::now() - began;
    last_yield = taken;
    // Not every yield gives the core away.
    patience = std::max(std::min<Clock::duration>(taken, longest_polling), patience * 7 / 8);
    if (taken > (cores_are_crowded ? longest_round_of_ranks : longest_free_yield)) {
      ask_for_short_slices();
      asked_ = true;
    }
  }
  void reset() {
    looks_ = 0;
    polls_ = false;
  }

  /// Whether another thread had the core while this one last yielded it. (Ranks that outnumber cores give it
  /// to each other for a few microseconds at a time.)
  static bool shares_core() { return cores_are_crowded && last_yield > longest_yield_alone; }
  /// Sets whether ranks outnumber cores. To be called before any thread waits; without a call, they are taken
  /// to.
  static void set_crowded(bool crowded) { cores_are_crowded = crowded; }
  static bool is_crowded() { return cores_are_crowded; }
  static constexpr int usual_looks = 8;

 private:
  using Clock = std::chrono::steady_clock;
  static inline thread_local Clock::duration last_yield __attribute__((tls_model("initial-exec"))){};
  static inline thread_local Clock::duration patience __attribute__((tls_model("initial-exec"))){};
  static inline bool cores_are_crowded = true;
  static constexpr std::chrono::nanoseconds longest_yield_alone{1500};
  /// If no other thread wants the core, a yield takes less than 1 µs.
  static constexpr std::chrono::microseconds longest_free_yield{20};
  /// Where ranks outnumber cores, the ranks of a core take turns of some microseconds. Asking the kernel
  /// twice in each call would take longer than the call.
  static constexpr std::chrono::microseconds longest_round_of_ranks{200};
  static constexpr Clock::duration longest_polling = std::chrono::milliseconds{4};

  int looks_before_yield_;
  int looks_ = 0;
  bool polls_ = false;
  Clock::time_point polls_since_{};
  bool asked_ = false;
};

}  // namespace stretto
