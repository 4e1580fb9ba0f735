// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>

namespace stretto {

// The rules by which a call is staged in segments. The engine copies by them, and the model uses them, too.

/// The number of segments that are fetched before a flight takes them.
inline constexpr std::size_t segments_ahead = 4;

/// Returns the most parts in which a segment is fetched and put back (TouchedBlocks::find). Only a message of
/// one segment has several parts, of some rounds each: at most 32, and none shorter than 256 KiB.
constexpr std::size_t parts_of_segment(std::size_t message_bytes, std::size_t segments) {
  constexpr std::size_t least_part_bytes = std::size_t{256} << 10;
  constexpr std::size_t most_parts = 32;
  return segments > 1 ? 1 : std::clamp(message_bytes / least_part_bytes, std::size_t{1}, most_parts);
}

}  // namespace stretto
