// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>

#include "sockets/frame.hpp"
#include "sockets/long_sends.hpp"
#include "sockets/message.hpp"

namespace stretto {

/// The frames to be written to a connection, in order. Messages are written from their own memory, without a
/// copy.
class SendQueue {
 public:
  /// After all else, parts of `long_sends` are written, if there are any. nullptr: there never are any.
  explicit SendQueue(LongSends* long_sends = nullptr) : long_sends_(long_sends) {}

  /// Adds a frame. `message` ends when the frame and the bytes behind it are written; nullptr: no bytes
  /// follow.
  void add(const Frame& frame, Message* message = nullptr);
  /// Adds a frame with a copy of the bytes behind it.
  void add_copied(const Frame& frame, const std::byte* data);

  enum class State { empty, blocked, broken };
  /// Writes what the connection takes, but at most `most_parts` parts.
  State write(int file, std::size_t most_parts = std::numeric_limits<std::size_t>::max());
  [[nodiscard]] bool is_empty() const {
    return entries_.empty() && (long_sends_ == nullptr || !long_sends_->has_next());
  }
  /// The bytes that are still to be written, including frames, but not parts that another connection may
  /// take.
  [[nodiscard]] std::size_t bytes() const;
  /// Whether something is to be written that is not news.
  [[nodiscard]] bool has_messages() const;
  /// The error of the connection, if it is broken.
  [[nodiscard]] int error() const { return error_; }
  /// Prepares for a connection in place of the broken one, from which the other side has read so many bytes
  /// of all that were ever written. Returns false if bytes are lost: the memory of messages that were written
  /// is no longer there.
  bool go_on_behind(std::uint64_t read);

  /// Fails messages, except long ones, whose parts are only removed. The rest of a frame that is half written
  /// is kept, as a copy. Returns the credit of messages of which nothing was written.
  std::size_t fail(const Which& which, const char* reason);

 private:
  struct Entry {
    Frame frame;
    const std::byte* data = nullptr;
    std::size_t bytes = 0;
    Message* reads = nullptr;    // the message whose memory this is
    Message* message = nullptr;  // the same, if it ends with this entry
    std::unique_ptr<std::byte[]> copy;
  };
  bool take_part();
  void finish_first();

  LongSends* long_sends_;
  std::deque<Entry> entries_;
  std::size_t written_ = 0;  // bytes of the first entry, including its frame
  std::uint64_t all_written_ = 0;
  int error_ = 0;
};

}  // namespace stretto
