// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "sockets/frame.hpp"
#include "sockets/long_sends.hpp"
#include "sockets/message.hpp"

namespace stretto {

/// The frames to be written to a connection, in order. Messages are written from their own memory, without a
/// copy. What the other node has not acknowledged stays there, in case the connection is made again. Messages
/// that were written stay only if that is asked for: bytes that are on their way when one ends are copied,
/// and that costs time where a link is as fast as memory.
class SendQueue {
 public:
  /// After all else, parts of `long_sends` are written, if there are any, and if `takes_part` says so.
  /// nullptr: there never are any.
  explicit SendQueue(LongSends* long_sends = nullptr, std::function<bool()> takes_part = {})
      : long_sends_(long_sends), takes_part_(std::move(takes_part)) {}

  /// Adds a frame. `message` ends when the frame and the bytes behind it are written; nullptr: no bytes
  /// follow.
  void add(const Frame& frame, Message* message = nullptr);
  /// Adds a frame with a copy of the bytes behind it.
  void add_copied(const Frame& frame, const std::byte* data);

  /// From now on, messages that were written stay until they are acknowledged.
  void keep_messages() { keeps_messages_ = true; }

  enum class State { empty, blocked, broken };
  /// Writes what the connection takes, but at most `most_parts` parts.
  State write(int file, std::size_t most_parts = std::numeric_limits<std::size_t>::max());
  [[nodiscard]] bool is_empty() const {
    return entries_.empty() && (long_sends_ == nullptr || !long_sends_->has_next());
  }
  /// The bytes that are still to be written, including frames, but not parts that another connection may
  /// take.
  [[nodiscard]] std::size_t bytes() const;
  /// The bytes that the other node has acknowledged, as far as known.
  [[nodiscard]] std::uint64_t acknowledged() const { return acknowledged_; }
  /// The bytes that it has not acknowledged, as far as known.
  [[nodiscard]] std::size_t bytes_left() const {
    return bytes() + static_cast<std::size_t>(all_written_ - acknowledged_);
  }
  /// Whether something is to be written, or on its way, that is not news.
  [[nodiscard]] bool has_messages() const;
  /// The error of the connection, if it is broken.
  [[nodiscard]] int error() const { return error_; }
  /// Prepares for a connection in place of the broken one, from which the other side has read so many bytes
  /// of all that were ever written. Returns false if bytes are lost: they are of a message that did not
  /// stay, or something on the way has acknowledged them without delivering them.
  bool go_on_behind(std::uint64_t read);
  /// Forgets what the other node has acknowledged.
  void look_at_acknowledged(int file);

  /// Fails messages, except long ones, whose parts are only removed. The rest of a frame that is half written
  /// is kept. Returns the credit of messages of which nothing was written.
  std::size_t fail(const Which& which, const char* reason);
  /// Reads the memory of a message no more.
  void leave_memory(const Message& message);

 private:
  struct Entry {
    Frame frame;
    const std::byte* data = nullptr;
    std::size_t bytes = 0;
    Message* reads = nullptr;    // the message whose memory this is
    Message* message = nullptr;  // the same, if it ends with this entry
    bool is_part = false;        // that is not counted as written yet
    std::vector<std::byte> copy;
    std::size_t gone = 0;  // bytes before those in the copy

    [[nodiscard]] std::size_t size() const { return sizeof(Frame) + bytes; }
    [[nodiscard]] bool is_of_message() const {
      return frame.kind == FrameKind::message || frame.kind == FrameKind::part;
    }
  };
  /// Keeps the bytes behind the first `done` ones in a copy. These count from the frame on.
  void keep_behind(Entry& entry, std::size_t done);
  void copy_behind(Entry& entry, std::size_t gone);
  bool take_part();
  void finish_first();
  [[nodiscard]] std::size_t acknowledged_of_first() const;
  void forget_on_their_way();

  LongSends* long_sends_;
  std::function<bool()> takes_part_;
  std::deque<Entry> entries_;
  std::deque<Entry> on_their_way_;      // written, in order, and not acknowledged
  std::size_t bytes_on_their_way_ = 0;  // of these
  std::size_t written_ = 0;             // bytes of the first entry, including its frame
  std::uint64_t all_written_ = 0;
  std::uint64_t acknowledged_ = 0;             // of these, as far as known
  std::vector<std::vector<std::byte>> spare_;  // memory for copies of short messages
  bool keeps_messages_ = false;
  int error_ = 0;
};

}  // namespace stretto
