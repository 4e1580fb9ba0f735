// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sched.h>

#include <chrono>

#include "threads/time_slice.hpp"

namespace stretto {

/// How to wait while nothing arrives. A few fruitless looks are answered at once, since a message on its way
/// takes microseconds; after that each one yields the processor. When ranks outnumber cores, the rank that we
/// wait for may need this very core, and spinning costs several-fold; when they don't, a yield returns within
/// a microsecond. One that takes longer says that somebody computes on this core: from then on until the wait
/// is over the thread asks for short slices, and yields after each look: what it does in its slices is taken
/// from that computation (4 % of a step that is all computation, with eight looks in each). (Rejected:
/// sleeping, whose wake-up of 50 µs and more empties the links, and which is no sooner given the processor
/// beside a computation; sleeping until a socket has something new, which is not faster and sees no shared
/// memory; blocking in MPI_Wait, which spins inside MPICH and cannot watch several segments at once.
/// docs/notebook.md has figures.)
class Backoff {
 public:
  Backoff() = default;
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
    if (looks_ < looks_before_yield) {
      ++looks_;
      return;
    }
    const auto began = Clock::now();
    sched_yield();
    if (Clock::now() - began > longest_free_yield) {
      ask_for_short_slices();
      asked_ = true;
    }
  }
  void reset() { looks_ = 0; }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr int looks_before_yield = 8;
  /// Where nobody else wants the core it takes less than one.
  static constexpr std::chrono::microseconds longest_free_yield{20};

  int looks_ = 0;
  bool asked_ = false;
};

}  // namespace stretto
