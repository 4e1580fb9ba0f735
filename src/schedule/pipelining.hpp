// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>

namespace stretto {

/// How a message is cut into segments, and how many of them are in flight at once (the papers' fconc and
/// fsize).
struct Pipelining {
  int segments = 0;               // this many, or, if 0,
  std::size_t segment_bytes = 0;  // as many as keep each at this size or below; both 0: one segment
  int window = 0;                 // in flight at most; 0: default_window

  static constexpr int default_window = 8;
  /// Each segment in flight takes a tag, and tags are few (engine/channel.hpp).
  static constexpr int most_window = 256;
  /// A segment beyond this is cut all the same: the counts of a message must fit MPI's int.
  static constexpr std::size_t most_segment_bytes = std::size_t{1} << 30;

  friend bool operator==(const Pipelining&, const Pipelining&) = default;

  [[nodiscard]] std::size_t in_flight() const {
    return static_cast<std::size_t>(window > 0 ? window : default_window);
  }

  /// Segments of a message; the same on all ranks. `element_bytes` counts data, not gaps.
  [[nodiscard]] std::size_t count(std::size_t elements, std::size_t element_bytes) const {
    const std::size_t bytes = elements * element_bytes;
    std::size_t wanted = segments > 0 ? static_cast<std::size_t>(segments) : 1;
    if (segments == 0 && segment_bytes > 0) wanted = (bytes + segment_bytes - 1) / segment_bytes;
    const std::size_t needed = (bytes + most_segment_bytes - 1) / most_segment_bytes;
    return std::clamp(std::max(wanted, needed), std::size_t{1}, std::max(elements, std::size_t{1}));
  }
};

}  // namespace stretto
