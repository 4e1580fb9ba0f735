// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <limits>
#include <memory>

#include "sockets/frame.hpp"
#include "sockets/long_sends.hpp"
#include "sockets/message.hpp"

namespace stretto {

/// What is to be written to a connection, in this order. Messages are written from where they are.
class SendQueue {
 public:
  /// When all else is written, parts of `long_sends` follow, if there are any (nullptr: never).
  explicit SendQueue(LongSends* long_sends = nullptr) : long_sends_(long_sends) {}

  /// `message` ends when the frame and the bytes behind it are written; nullptr: a frame without any.
  void add(const Frame& frame, Message* message = nullptr);
  /// A frame with a copy of the bytes behind it.
  void add_copied(const Frame& frame, const std::byte* data);

  enum class State { empty, blocked, broken };
  /// Writes what the connection takes, and no more than so many parts.
  State write(int file, std::size_t most_parts = std::numeric_limits<std::size_t>::max());
  [[nodiscard]] bool is_empty() const {
    return entries_.empty() && (long_sends_ == nullptr || !long_sends_->has_next());
  }
  /// What is still to be written, with the frames, but for parts that may go by another connection.
  [[nodiscard]] std::size_t bytes() const;
  /// The error of the connection, if it is broken.
  [[nodiscard]] int error() const { return error_; }

  /// Ends all messages but long ones. Of the frame that is half written, the rest is kept, in a copy.
  void end_all(Message::State how);

 private:
  struct Entry {
    Frame frame;
    const std::byte* data = nullptr;
    std::size_t bytes = 0;
    Message* message = nullptr;
    std::unique_ptr<std::byte[]> copy;
  };
  bool take_part();
  void finish_first();

  LongSends* long_sends_;
  std::deque<Entry> entries_;
  std::size_t written_ = 0;  // of the first entry, with its frame
  int error_ = 0;
};

}  // namespace stretto
