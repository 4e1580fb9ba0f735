// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>

#include "sockets/frame.hpp"
#include "sockets/socket.hpp"

namespace stretto {

/// Where the bytes behind a frame go. What exceeds the room is skipped.
struct Landing {
  std::byte* into = nullptr;
  std::size_t room = 0;
};

/// What takes the frames of a connection.
class FrameTaker {
 public:
  FrameTaker() = default;
  FrameTaker(const FrameTaker&) = delete;
  FrameTaker& operator=(const FrameTaker&) = delete;
  virtual ~FrameTaker() = default;

  /// Returns where the bytes behind it go; nothing if the frame is not allowed here.
  virtual std::optional<Landing> take(const Frame& frame) = 0;
  /// The bytes behind the last frame are there. Not called for frames without any.
  virtual void take_end() = 0;
};

/// The bytes that follow a frame.
std::size_t bytes_behind(const Frame& frame);

/// Reads frames from a connection. Short ones come many at a time. What follows them goes straight to where
/// it is wanted, as far as it is not in the buffer already.
class FrameReader {
 public:
  enum class Found { nothing, something, end, fault };
  /// Reads what has come, but not much more than `most` bytes, and nothing after the taker has closed the
  /// socket. `fault`: what came is not allowed. Readers that never read at once may share a buffer, of 1 KiB
  /// or more.
  Found read(const Socket& socket, FrameTaker& taker, std::size_t most, std::span<std::byte> buffer);
  /// What follows the present frame is wanted no more.
  void forget_landing() { landing_ = {}; }
  /// The error of the connection, if it ended by one.
  [[nodiscard]] int error() const { return error_; }

 private:
  bool parse(FrameTaker& taker);
  void put(std::size_t bytes);

  std::span<std::byte> buffer_;  // of read()
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  Landing landing_;
  std::size_t behind_ = 0;  // bytes that still follow the present frame
  int error_ = 0;
  /// The beginning of a frame, until the next read().
  std::array<std::byte, sizeof(Frame)> rest_{};
  std::size_t rest_bytes_ = 0;
};

}  // namespace stretto
