// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>

namespace stretto {

/// The way in which a message is cut into segments, and the number of segments in flight at once (fconc and
/// fsize in the papers).
struct Pipelining {
  int segments = 0;               // the number of segments, or, if 0,
  std::size_t segment_bytes = 0;  // the most bytes of a segment; both 0: one segment
  int window = 0;                 // the most segments in flight; 0: default_window

  static constexpr int default_window = 8;
  /// Each segment in flight needs a tag, and there are few tags (engine/messages/channel.hpp).
  static constexpr int most_window = 256;
  /// Longer segments are cut further: the counts of a message must fit into int, as MPI requires.
  static constexpr std::size_t most_segment_bytes = std::size_t{1} << 30;

  friend bool operator==(const Pipelining&, const Pipelining&) = default;

  [[nodiscard]] std::size_t in_flight() const {
    return static_cast<std::size_t>(window > 0 ? window : default_window);
  }

  /// Returns the number of segments of a message, which is the same on all ranks. `element_bytes` counts
  /// data, not gaps.
  [[nodiscard]] std::size_t count(std::size_t elements, std::size_t element_bytes) const {
    const std::size_t bytes = elements * element_bytes;
    std::size_t wanted = segments > 0 ? static_cast<std::size_t>(segments) : 1;
    if (segments == 0 && segment_bytes > 0) wanted = (bytes + segment_bytes - 1) / segment_bytes;
    const std::size_t needed = (bytes + most_segment_bytes - 1) / most_segment_bytes;
    return std::clamp(std::max(wanted, needed), std::size_t{1}, std::max(elements, std::size_t{1}));
  }
};

}  // namespace stretto
