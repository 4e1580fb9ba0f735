// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace stretto {

constexpr int any_rank = -2;

/// A message that this rank sends or awaits. Its owner keeps it and its memory until it has ended. Messages
/// of the same pair of ranks, context and tag match in order.
struct Message {
  enum class State : std::uint8_t {
    pending,
    done,
    failed,  // the job cannot go on
  };

  bool sends = false;
  int peer = 0;  // or any_rank, if a receive
  std::uint64_t context = 0;
  std::int32_t tag = 0;
  std::byte* data = nullptr;
  std::size_t bytes = 0;  // of a receive: the most bytes that it takes

  int source = any_rank;    // of a receive that has ended
  std::size_t arrived = 0;  // bytes, likewise; if more than `bytes`, the rest is lost
  std::uint64_t order = 0;  // among all receives of this rank
  std::atomic<State> state{State::pending};

  [[nodiscard]] bool has_ended() const { return state.load(std::memory_order_acquire) != State::pending; }
  void end(State how) { state.store(how, std::memory_order_release); }
};

}  // namespace stretto
