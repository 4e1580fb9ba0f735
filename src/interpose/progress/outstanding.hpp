// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>

namespace stretto {

class Watched;

/// An operation, as seen by the threads that advance it. It is outstanding from its start until it has ended.
class Outstanding {
 public:
  Outstanding() = default;
  Outstanding(const Outstanding&) = delete;
  Outstanding& operator=(const Outstanding&) = delete;
  virtual ~Outstanding() = default;

  /// Advances it as far as possible without waiting. Returns whether anything happened. Thread-safe.
  virtual bool progress() = 0;

  /// Returns the bytes of its message.
  [[nodiscard]] virtual std::size_t bytes() const = 0;

  /// Returns the program's call that it carries out, if the watchdog knows such calls; else nullptr.
  virtual Watched* watched() { return nullptr; }

  /// Whether it has ended, so that the program can have its result.
  [[nodiscard]] bool ended() const { return ended_.load(std::memory_order_acquire); }

  /// Returns whether the helper thread has polled it since it was started, and notes that it has now.
  bool was_polled_by_helper() { return polled_by_helper_.exchange(true, std::memory_order_relaxed); }

 protected:
  void note_start() {
    polled_by_helper_.store(false, std::memory_order_relaxed);
    ended_.store(false, std::memory_order_relaxed);
  }
  void note_end() { ended_.store(true, std::memory_order_release); }

 private:
  std::atomic<bool> ended_{true};
  std::atomic<bool> polled_by_helper_{false};
};

}  // namespace stretto
