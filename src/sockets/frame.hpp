// SPDX-License-Identifier: Apache-2.0
// What travels over a connection.
//
// A connection carries the messages of one direction, from the rank that made it. Frames of its maker:
//
//   message    a whole message follows
//   offer      a long message, which waits until the other side wants it
//   part       a part of a long message follows; the parts of one come in order
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
  std::uint64_t context = 0;  // of a communicator
  std::uint64_t bytes = 0;    // that follow; of an offer: of the message; of credit: that were taken
  std::uint64_t number = 0;   // of a long message, among those of this connection
};
static_assert(sizeof(Frame) == 32);

/// Longer messages are offered first.
constexpr std::size_t longest_whole_message = std::size_t{1} << 20;
/// Of whole messages that have not found their receives.
constexpr std::size_t most_credit = std::size_t{4} << 20;
/// A part of a long message. Short messages go between two parts.
constexpr std::size_t longest_part = std::size_t{1} << 20;
constexpr std::size_t longest_failure = 512;

}  // namespace stretto
