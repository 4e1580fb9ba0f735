// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace stretto {

constexpr int any_rank = -2;

/// A message that this rank sends or awaits. Its owner keeps it and its memory until it has ended. Messages
/// of the same pair of ranks, context and tag match in order.
struct Message {
  enum class State : std::uint8_t {
    pending,
    done,
    failed,  // see `reason`
  };

  bool sends = false;
  int peer = 0;  // or any_rank, if a receive
  std::uint64_t context = 0;
  std::int32_t tag = 0;
  std::byte* data = nullptr;
  std::size_t bytes = 0;  // of a receive: the most bytes that it takes

  int source = any_rank;         // of a receive that has ended
  std::size_t arrived = 0;       // bytes, likewise; if more than `bytes`, the rest is lost
  std::uint64_t order = 0;       // among all receives of this rank
  const char* reason = nullptr;  // why it has failed; the text stays valid
  /// Changes whenever some of its bytes have moved.
  std::atomic<std::uint32_t> steps{0};
  std::atomic<State> state{State::pending};

  [[nodiscard]] bool has_ended() const { return state.load(std::memory_order_acquire) != State::pending; }
  void end(State how) { state.store(how, std::memory_order_release); }
  /// Ends it before its bytes have moved. Without a reason it is done: its peer needs it no more.
  void end_early(const char* why) {
    reason = why;
    end(why == nullptr ? State::done : State::failed);
  }
  void note_step() { steps.fetch_add(1, std::memory_order_relaxed); }
};

/// Says which messages end. It is not asked about a message that has ended.
using Which = std::function<bool(const Message&)>;

}  // namespace stretto
