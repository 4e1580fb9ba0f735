// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sched.h>

#include <atomic>

namespace stretto {

/// A mutex for sections of nanoseconds. Uncontended it costs half of a std::mutex, and a small collective
/// takes several. A thread that finds the lock taken yields the processor, which the holder may need.
class SpinLock {
 public:
  void lock() {
    while (!try_lock()) sched_yield();
  }
  bool try_lock() {
    return !is_taken_.load(std::memory_order_relaxed) && !is_taken_.exchange(true, std::memory_order_acquire);
  }
  void unlock() { is_taken_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> is_taken_{false};
};

}  // namespace stretto
