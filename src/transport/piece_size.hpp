// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>

#include "transport/mailbox.hpp"

namespace stretto {

/// The least size of the pieces of a message that goes through the store.
constexpr std::size_t least_piece_bytes = std::size_t{4} << 10;

/// Returns the size in bytes of the pieces in which a message goes. Long messages go in pieces of 32 KiB,
/// which stay in the first-level cache between two operations on them. Shorter ones go in four pieces, if
/// these are worth the 0.1 to 0.2 us that each takes. A message that fits into a line of the mailbox needs no
/// room in the store. Two to four lines would take longer than a piece, since each of them is waited for by
/// itself.
constexpr std::size_t bytes_of_piece(std::size_t message) {
  if (message <= Line::room) return Line::room;
  constexpr std::size_t most = std::size_t{32} << 10;
  return std::clamp(message / 4, least_piece_bytes, most);
}

}  // namespace stretto
