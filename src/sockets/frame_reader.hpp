// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "sockets/frame.hpp"
#include "sockets/socket.hpp"

namespace stretto {

/// The place for the bytes behind a frame. Bytes that exceed the room are skipped.
struct Landing {
  std::byte* into = nullptr;
  std::size_t room = 0;
};

/// Takes the frames of a connection.
class FrameTaker {
 public:
  FrameTaker() = default;
  FrameTaker(const FrameTaker&) = delete;
  FrameTaker& operator=(const FrameTaker&) = delete;
  virtual ~FrameTaker() = default;

  /// Takes a frame. Returns where the bytes behind it go; nothing if the frame is not allowed here.
  virtual std::optional<Landing> take(const Frame& frame) = 0;
  /// Called when the bytes behind the last frame have arrived. Not called for frames without any.
  virtual void take_end() = 0;
};

/// Returns the number of bytes that follow a frame.
std::size_t bytes_behind(const Frame& frame);

/// Reads frames from a connection, many short ones at a time. The bytes behind a frame go straight to their
/// landing, unless they are in the buffer already.
class FrameReader {
 public:
  enum class Found { nothing, something, end, fault };
  /// Reads what has arrived, but not much more than `most` bytes, and nothing after the taker has closed the
  /// socket. `fault`: a frame was not allowed. Readers that never read at the same time may share a buffer,
  /// of 1 KiB or more.
  Found read(const Socket& socket, FrameTaker& taker, std::size_t most, std::span<std::byte> buffer);
  /// Skips the rest of the bytes behind the present frame.
  void forget_landing() { landing_ = {}; }
  /// The error with which the connection ended, or 0.
  [[nodiscard]] int error() const { return error_; }
  /// The bytes that it has read.
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  bool parse(FrameTaker& taker);
  void put(std::size_t bytes);

  std::span<std::byte> buffer_;  // of read()
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  Landing landing_;
  std::size_t behind_ = 0;  // bytes that still follow the present frame
  int error_ = 0;
  std::uint64_t bytes_ = 0;
  /// The beginning of a frame, until the next read().
  std::array<std::byte, sizeof(Frame)> rest_{};
  std::size_t rest_bytes_ = 0;
};

}  // namespace stretto
