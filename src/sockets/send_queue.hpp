// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <memory>

#include "sockets/frame.hpp"
#include "sockets/message.hpp"

namespace stretto {

/// What is to be written to a connection, in this order. Messages are written from where they are.
class SendQueue {
 public:
  /// `message` ends when the frame and the bytes behind it are written; nullptr: a frame without any.
  void add(const Frame& frame, Message* message = nullptr);
  /// A frame with a copy of the bytes behind it.
  void add_copied(const Frame& frame, const std::byte* data);
  /// A long message, which goes part by part.
  void add_parts(std::uint64_t number, Message& message);

  enum class State { empty, blocked, broken };
  /// Writes what the connection takes.
  State write(int file);
  [[nodiscard]] bool is_empty() const { return entries_.empty(); }
  /// What is still to be written, with the frames.
  [[nodiscard]] std::size_t bytes() const;
  /// The error of the connection, if it is broken.
  [[nodiscard]] int error() const { return error_; }

  /// Ends all messages. Of the frame that is half written, the rest is kept, in a copy.
  void end_all(Message::State how);

 private:
  struct Entry {
    Frame frame;
    const std::byte* data = nullptr;
    std::size_t bytes = 0;
    Message* message = nullptr;
    std::size_t rest = 0;  // of a long message, behind this part
    std::unique_ptr<std::byte[]> copy;
  };
  void finish_first();

  std::deque<Entry> entries_;
  std::size_t written_ = 0;  // of the first entry, with its frame
  int error_ = 0;
};

}  // namespace stretto
