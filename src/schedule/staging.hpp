// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>

namespace stretto {

// How a call is staged by segments. The engine copies by these rules, and the model reckons with them.

/// Segments that are fetched before a flight takes them.
inline constexpr std::size_t segments_ahead = 4;

/// Returns in how many parts a segment is fetched and put back, at most (TouchedBlocks::find). Only a message
/// of one segment has several, of some rounds each: not shorter than 256 KiB, and not more than 32.
constexpr std::size_t parts_of_segment(std::size_t message_bytes, std::size_t segments) {
  constexpr std::size_t least_part_bytes = std::size_t{256} << 10;
  constexpr std::size_t most_parts = 32;
  return segments > 1 ? 1 : std::clamp(message_bytes / least_part_bytes, std::size_t{1}, most_parts);
}

}  // namespace stretto
