// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "schedule/partition.hpp"

namespace stretto {

enum class CopyDirection : std::uint8_t { to_host, to_device };

/// The part of a call that is copied at once.
struct CopiedPart {
  static constexpr int whole = -1;
  int segment = whole;  // whole: all of the call
  int part = whole;     // of a segment that is copied in parts of some rounds; whole: all of the segment
};

/// Observes the copies of a call (STRETTO_TRACE).
class CopyObserver {
 public:
  CopyObserver() = default;
  CopyObserver(const CopyObserver&) = delete;
  CopyObserver& operator=(const CopyObserver&) = delete;
  virtual ~CopyObserver() = default;
  /// Returns a number for the copy. The copies of one direction run one after the other.
  virtual std::size_t copy_begins(CopyDirection direction, const CopiedPart& of) = 0;
  /// Says that the rank has seen the end of a copy. Copies of one direction end in order. If the rank cannot
  /// see the end of a copy, after an error of the driver, there is no such call.
  virtual void copy_ends(std::size_t copy, std::size_t bytes) = 0;
};

/// Copies the input of an execution from the program's buffers, and its output back to them, while other
/// segments travel. The buffers of the call are in host memory, and as long as those of the program. Elements
/// have the numbers of the call. No function waits.
class SegmentCopies {
 public:
  SegmentCopies() = default;
  SegmentCopies(const SegmentCopies&) = delete;
  SegmentCopies& operator=(const SegmentCopies&) = delete;
  virtual ~SegmentCopies() = default;

  /// Whether the execution says which elements are to be copied. Otherwise all of the input is under way when
  /// the execution starts, which counts as one fetch, and the result is copied when the execution has ended.
  [[nodiscard]] virtual bool goes_by_segments() const = 0;
  /// Begins to copy elements of the input. In place, they are those of the only buffer.
  virtual void fetch(const CopiedPart& part, std::span<const Range> elements) = 0;
  /// Returns how many of the fetches have ended; they end in order. After an error, all count as ended.
  virtual std::size_t arrived() = 0;
  /// Begins to copy elements of the output to where the program wants them.
  virtual void put_back(const CopiedPart& part, std::span<const Range> elements) = 0;
  [[nodiscard]] virtual bool has_failed() const = 0;
};

}  // namespace stretto
