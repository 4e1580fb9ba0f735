// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <utility>

#include "sockets/message.hpp"

namespace stretto {

/// Long messages to a rank. They go in parts over one or several connections. Each connection takes the next
/// part when it has room, so a faster one takes more parts.
class LongSends {
 public:
  struct Part {
    std::uint64_t number = 0;  // of the message
    std::size_t offset = 0;
    std::byte* data = nullptr;
    std::size_t bytes = 0;
    Message* message = nullptr;
  };

  /// `leave_memory` is called before a message ends whose bytes are written: nothing may read them any more.
  explicit LongSends(std::function<void(const Message&)> leave_memory)
      : leave_memory_(std::move(leave_memory)) {}

  /// Adds a message. `most_at_once`: the most bytes of a part; at least 1.
  void add(std::uint64_t number, Message& message, std::size_t most_at_once);
  /// Returns a part that no connection has taken. Messages take turns.
  std::optional<Part> next();
  /// Notes that so many bytes of a message are written. The message ends when all of its bytes are.
  void note_written(std::uint64_t number, std::size_t bytes);
  [[nodiscard]] bool has_next() const { return !waiting_.empty(); }
  /// The bytes of that part; there must be one.
  [[nodiscard]] std::size_t bytes_of_next() const;
  /// The bytes that no connection has taken.
  [[nodiscard]] std::size_t bytes() const;
  /// Fails messages. No part of them may be read any more.
  void fail(const Which& which, const char* reason);

 private:
  struct Send {
    std::uint64_t number;
    Message* message;
    std::size_t most_at_once;
    std::size_t taken = 0;
    std::size_t written = 0;

    [[nodiscard]] std::size_t bytes_of_next() const { return std::min(message->bytes - taken, most_at_once); }
  };
  std::function<void(const Message&)> leave_memory_;
  std::deque<Send> waiting_;  // messages with parts that are not taken
  std::deque<Send> taken_;    // messages whose parts are all taken
};

}  // namespace stretto
