// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "schedule/partition.hpp"

namespace stretto {

/// Copies what an execution reads from where the program has it, and back what it makes, while other segments
/// travel. The buffers of the call are in host memory, as long as those of the program. Elements have the
/// numbers of the call. None of these waits.
class SegmentCopies {
 public:
  SegmentCopies() = default;
  SegmentCopies(const SegmentCopies&) = delete;
  SegmentCopies& operator=(const SegmentCopies&) = delete;
  virtual ~SegmentCopies() = default;

  /// Whether the execution says what is to be copied. Otherwise all of the input is under way when it starts,
  /// by what counts as one fetch, and the result is copied when it has ended.
  [[nodiscard]] virtual bool goes_by_segments() const = 0;
  /// Begins to copy elements of the input. In place, these are of the only buffer.
  virtual void fetch(std::span<const Range> elements) = 0;
  /// Returns how many of the fetches have ended; they end in order. After an error, all have.
  virtual std::size_t arrived() = 0;
  /// Begins to copy elements of the output to where the program wants them.
  virtual void put_back(std::span<const Range> elements) = 0;
  [[nodiscard]] virtual bool has_failed() const = 0;
};

}  // namespace stretto
