// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "sockets/frame.hpp"

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
  explicit FrameReader(std::size_t buffer_bytes) : buffer_(buffer_bytes) {}

  enum class Found { nothing, something, end, fault };
  /// Reads what is there, but not much more than `most` bytes. `fault`: what came is not allowed.
  Found read(int file, FrameTaker& taker, std::size_t most);
  /// What follows the present frame is wanted no more.
  void forget_landing() { landing_ = {}; }
  /// The error of the connection, if it ended by one.
  [[nodiscard]] int error() const { return error_; }

 private:
  bool parse(FrameTaker& taker);
  void put(std::size_t bytes);

  std::vector<std::byte> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  Landing landing_;
  std::size_t behind_ = 0;  // bytes that still follow the present frame
  int error_ = 0;
};

}  // namespace stretto
