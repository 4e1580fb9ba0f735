// SPDX-License-Identifier: Apache-2.0
// What travels over a connection.
//
// A connection carries the messages of one direction, from the rank that made it. There may be several
// between two ranks: the first one carries all but parts of long messages, which each of them carries (stream
// 1 and up carry nothing else but the end of the job). Frames of its maker:
//
//   message    a whole message follows
//   offer      a long message, which waits until the other side wants it
//   part       a part of a long message follows
//   failure    why the job cannot go on; the text follows
//   farewell   the rank ends regularly and sends nothing more
//
// The other side answers on the same connection:
//
//   welcome    the maker is known to be of the job
//   wanted     the receive of a long message is posted
//   credit     so many bytes of whole messages have found their receives
//
// A rank sends whole messages only as long as it has credit, so what others keep for a rank that is late has
// a bound. The nodes of a job have the same byte order (a Hello of the other one has no known first word).
#pragma once

#include <cstddef>
#include <cstdint>

namespace stretto {

enum class FrameKind : std::uint32_t { message = 1, offer, part, failure, farewell, welcome, wanted, credit };

struct Frame {
  FrameKind kind{};
  std::int32_t tag = 0;
  std::uint64_t context = 0;  // of a communicator; of a part: where in its message it begins
  std::uint64_t bytes = 0;    // that follow; of an offer: of the message; of credit: that were taken
  std::uint64_t number = 0;   // of a long message, among those of its sender to this rank
};
static_assert(sizeof(Frame) == 32);

/// Longer messages are offered first: they are long ones.
constexpr std::size_t longest_whole_message = std::size_t{1} << 20;
/// The same where several connections carry their parts.
constexpr std::size_t longest_whole_of_streams = std::size_t{64} << 10;
/// Of whole messages that have not found their receives.
constexpr std::size_t most_credit = std::size_t{4} << 20;
/// A part of a long message. Short messages go between two parts.
constexpr std::size_t longest_part = std::size_t{1} << 20;
/// The same where several connections carry parts, so that each of them has some.
constexpr std::size_t longest_part_of_streams = std::size_t{256} << 10;
/// Connections from a rank to another one, at most.
constexpr int most_streams = 16;
constexpr std::size_t longest_failure = 512;

}  // namespace stretto
