// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "engine/data/call.hpp"
#include "engine/data/segment_copies.hpp"
#include "schedule/schedule.hpp"
#include "schedule/touched_blocks.hpp"

namespace stretto {

/// Decides which elements of a staged call are copied with each of its segments: those that its schedule
/// touches. Does nothing for calls that are not staged.
class StagedSegments {
 public:
  /// To be called when a call starts. Call and schedule must stay where they are until it has ended.
  void begin(const Call& call, const Schedule& schedule, std::size_t segments);

  /// Begins to fetch the elements that segments up to this one read, and some more.
  void fetch_until(std::size_t segment);
  /// Whether all elements that the segment reads in this round and before have arrived, or a copy has failed.
  [[nodiscard]] bool has_arrived(std::size_t segment, int round) const {
    return copies_ == nullptr || copies_->arrived() >= fetches_before(segment, round);
  }
  /// Begins to put back the elements that the segment does not write after this round.
  void put_back(std::size_t segment, int round, const BlockCut& output_blocks);

  [[nodiscard]] bool are_any() const { return copies_ != nullptr; }
  [[nodiscard]] bool has_failed() const { return copies_ != nullptr && copies_->has_failed(); }

 private:
  [[nodiscard]] bool goes_by_segments() const { return copies_ != nullptr && copies_->goes_by_segments(); }
  [[nodiscard]] std::size_t fetches_before(std::size_t segment, int round) const;
  std::span<const Range> elements_of(const BlockCut& cut, std::span<const int> blocks);

  SegmentCopies* copies_ = nullptr;  // nullptr: the call is not staged
  const Call* call_ = nullptr;
  std::size_t blocks_ = 0;
  std::size_t segments_ = 0;
  std::size_t fetched_ = 0;  // segments
  TouchedBlocks touched_;
  std::size_t parts_ = 0;      // for which it was found; 0: it was not yet
  bool in_place_ = false;      // likewise
  std::vector<Range> ranges_;  // of one copy
};

}  // namespace stretto
