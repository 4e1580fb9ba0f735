// SPDX-License-Identifier: Apache-2.0
// The frames that travel over a connection.
//
// A connection carries the messages of one direction, from the rank that made it. There may be several
// between two ranks. The first one (stream 0) carries everything; the others carry only parts of long
// messages and the end of the job. The maker sends these frames:
//
//   message    a whole message follows
//   offer      a long message waits until the other side wants it
//   part       a part of a long message follows
//   news       a rank takes part no longer, in a group or in anything; a text that says why follows
//   farewell   the rank ends and sends nothing more; a text that says so, or why, follows
//   census     a word of a census follows (sockets/census.hpp)
//   rails      these rails of the maker's node are out of order (sockets/rails.hpp)
//
// The other side answers on the same connection with these:
//
//   wanted     the receive of a long message is posted
//   credit     this many bytes of whole messages have found their receives
//
// A rank sends whole messages only as long as it has credit, so a rank that is late has to keep only a
// limited number of bytes. Credit comes back with a `wanted` only, and the maker offers a message when half
// of its credit is used up. So a rank whose messages are sent awaits no frame. That matters because a rank
// may end without reading one: then the kernel would throw away what is still on its way from that rank. The
// nodes of a job have the same byte order (the numbers in a Hello with the other order are not plausible).
#pragma once

#include <cstddef>
#include <cstdint>

namespace stretto {

enum class FrameKind : std::uint32_t {
  message = 1,
  offer,
  part,
  news,
  farewell,
  wanted,
  credit,
  census,
  rails
};

struct Frame {
  FrameKind kind{};
  std::int32_t tag = 0;  // of news: the rank that takes part no longer
  /// Of a communicator. Of a part: its offset in the message. Of news and of a census: the group.
  /// Of rails: a bit for each one that is out of order.
  std::uint64_t context = 0;
  std::uint64_t bytes = 0;  // that follow; of an offer: of the message; of a credit: that were taken
  /// Of a long message, among those of its sender to this rank. Of news: a call. Of a farewell: 1 if others
  /// must hear of it, else 0. Of a census, among those of the group.
  std::uint64_t number = 0;
};
static_assert(sizeof(Frame) == 32);

/// Messages longer than this are called long and are offered first.
constexpr std::size_t longest_whole_message = std::size_t{1} << 20;
/// The same where several connections carry the parts of long messages.
constexpr std::size_t longest_whole_of_streams = std::size_t{64} << 10;
/// The most bytes of whole messages that have not found their receives.
constexpr std::size_t most_credit = std::size_t{4} << 20;
/// Returns the part of the sender's credit that a whole message takes.
constexpr std::size_t credit_for(std::size_t bytes) {
  constexpr std::size_t of_any = 128;
  return bytes + of_any;
}
/// The longest part of a long message. Short messages go between two parts.
constexpr std::size_t longest_part = std::size_t{1} << 20;
/// The same where several connections carry parts, so that each of them has some.
constexpr std::size_t longest_part_of_streams = std::size_t{256} << 10;
/// The most connections from a rank to another one.
constexpr int most_streams = 16;
constexpr std::size_t longest_reason = 512;

}  // namespace stretto
