// SPDX-License-Identifier: Apache-2.0
#include "sockets/frame_reader.hpp"

#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace stretto {

std::size_t bytes_behind(const Frame& frame) {
  switch (frame.kind) {
    case FrameKind::message:
    case FrameKind::part:
    case FrameKind::news:
    case FrameKind::farewell:
    case FrameKind::census:
      return frame.bytes;
    default:
      return 0;
  }
}

FrameReader::Found FrameReader::read(const Socket& socket, FrameTaker& taker, std::size_t most,
                                     std::span<std::byte> buffer) {
  buffer_ = buffer;
  std::size_t taken = 0;
  while (taken < most && socket) {
    const std::size_t straight = std::min(behind_, landing_.room);
    std::memcpy(buffer_.data(), rest_.data(), rest_bytes_);
    begin_ = 0;
    end_ = rest_bytes_;
    const std::array<iovec, 2> places{
        {{.iov_base = landing_.into, .iov_len = straight},
         {.iov_base = buffer_.data() + end_, .iov_len = buffer_.size() - end_}}};
    const bool goes_straight = straight > 0;
    const bool uses_buffer = !goes_straight || straight == behind_;
    const std::size_t asked = straight + (uses_buffer ? places[1].iov_len : 0);
    const ssize_t got = readv(socket.file(), goes_straight ? places.data() : &places[1],
                              goes_straight && uses_buffer ? 2 : 1);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
    if (got <= 0) {
      error_ = got < 0 ? errno : 0;
      return Found::end;
    }
    auto bytes = static_cast<std::size_t>(got);
    taken += bytes;
    bytes_ += bytes;
    if (goes_straight) {
      const std::size_t landed = std::min(bytes, straight);
      landing_ = {landing_.into + landed, landing_.room - landed};
      behind_ -= landed;
      bytes -= landed;
      if (behind_ == 0) taker.take_end();
    }
    end_ += bytes;
    if (!parse(taker)) return Found::fault;
    rest_bytes_ = end_ - begin_;
    std::memcpy(rest_.data(), buffer_.data() + begin_, rest_bytes_);
    // No more had arrived. If the connection has ended, the next call says so: the poller names the socket
    // again.
    if (static_cast<std::size_t>(got) < asked) break;
  }
  return taken > 0 ? Found::something : Found::nothing;
}

/// Takes everything in the buffer except the beginning of a frame.
bool FrameReader::parse(FrameTaker& taker) {
  while (begin_ < end_) {
    if (behind_ > 0) {
      put(std::min(behind_, end_ - begin_));
      if (behind_ == 0) taker.take_end();
      continue;
    }
    if (end_ - begin_ < sizeof(Frame)) break;
    Frame frame;
    std::memcpy(&frame, buffer_.data() + begin_, sizeof(frame));
    begin_ += sizeof(frame);
    const std::optional<Landing> landing = taker.take(frame);
    if (!landing) return false;
    landing_ = *landing;
    behind_ = bytes_behind(frame);
  }
  return true;
}

void FrameReader::put(std::size_t bytes) {
  const std::size_t wanted = std::min(bytes, landing_.room);
  if (wanted > 0) std::memcpy(landing_.into, buffer_.data() + begin_, wanted);
  landing_ = {landing_.into + wanted, landing_.room - wanted};
  begin_ += bytes;
  behind_ -= bytes;
}

}  // namespace stretto
