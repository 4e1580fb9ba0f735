// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace stretto {

/// Counts calls of one kind. It is thread-safe and takes no lock, since it counts the shortest calls as well.
struct CallCounter {
  std::atomic<std::uint64_t> calls{0};
  std::atomic<std::uint64_t> bytes{0};
  std::atomic<std::uint64_t> nanoseconds{0};

  void count(std::size_t bytes_of_call) {
    calls.fetch_add(1, std::memory_order_relaxed);
    bytes.fetch_add(bytes_of_call, std::memory_order_relaxed);
  }
  /// The same, faster, if only this thread counts here.
  void count_alone(std::size_t bytes_of_call) {
    calls.store(calls.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    bytes.store(bytes.load(std::memory_order_relaxed) + bytes_of_call, std::memory_order_relaxed);
  }
  void add(std::size_t bytes_of_call, double seconds) {
    count(bytes_of_call);
    nanoseconds.fetch_add(static_cast<std::uint64_t>(seconds * 1e9), std::memory_order_relaxed);
  }
};

}  // namespace stretto
