// SPDX-License-Identifier: Apache-2.0
#include "engine/staging/staged_segments.hpp"

#include <algorithm>

#include "schedule/staging.hpp"

namespace stretto {
namespace {

CopiedPart name_of(const TouchedBlocks::Part& part, std::span<const TouchedBlocks::Part> all,
                   std::size_t segment) {
  const auto number = static_cast<int>(&part - all.data());
  return {.segment = static_cast<int>(segment), .part = all.size() > 1 ? number : CopiedPart::whole};
}

}  // namespace

void StagedSegments::begin(const Call& call, const Schedule& schedule, std::size_t segments) {
  copies_ = call.staging;
  if (!goes_by_segments()) return;
  call_ = &call;
  blocks_ = static_cast<std::size_t>(schedule.blocks());
  segments_ = segments;
  fetched_ = 0;
  // Blocks of private lengths are no part of the message.
  std::size_t elements = call.count;
  for (const auto borders : {call.borders, call.output_borders})
    elements = std::max(elements, borders.empty() ? 0 : borders.back());
  const std::size_t parts =
      parts_of_segment(elements * static_cast<std::size_t>(call.element.size), segments);
  if (parts == parts_ && call.in_place == in_place_) return;
  touched_ = TouchedBlocks::find(schedule, call.in_place, parts);
  parts_ = parts;
  in_place_ = call.in_place;
}

void StagedSegments::fetch_until(std::size_t segment) {
  if (!goes_by_segments()) return;
  const std::size_t end = std::min(segment + 1 + segments_ahead, segments_);
  for (; fetched_ < end; ++fetched_) {
    const BlockCut blocks = call_->cut(fetched_, segments_, blocks_);
    for (const TouchedBlocks::Part& part : touched_.reads)
      copies_->fetch(name_of(part, touched_.reads, fetched_), elements_of(blocks, part.blocks));
  }
}

/// Each part of a segment that is fetched is one fetch, and so is the input of a call that is fetched as a
/// whole.
std::size_t StagedSegments::fetches_before(std::size_t segment, int round) const {
  if (!goes_by_segments()) return 1;
  const auto parts = std::ranges::upper_bound(touched_.reads, round, {}, &TouchedBlocks::Part::round);
  const auto in_segment = static_cast<std::size_t>(parts - touched_.reads.begin());
  return in_segment == 0 ? 0 : segment * touched_.reads.size() + in_segment;
}

void StagedSegments::put_back(std::size_t segment, int round, const BlockCut& output_blocks) {
  if (!goes_by_segments()) return;
  for (const TouchedBlocks::Part& part : touched_.writes) {
    if (part.round != round) continue;
    copies_->put_back(name_of(part, touched_.writes, segment), elements_of(output_blocks, part.blocks));
  }
}

/// Returns the runs of elements of some blocks, in rising order. The result is valid until the next call.
std::span<const Range> StagedSegments::elements_of(const BlockCut& cut, std::span<const int> blocks) {
  ranges_.clear();
  for (const int block : blocks) {
    const Range range = cut.run(static_cast<std::size_t>(block));
    if (range.count == 0) continue;
    if (!ranges_.empty() && ranges_.back().first + ranges_.back().count == range.first) {
      ranges_.back().count += range.count;
    } else {
      ranges_.push_back(range);
    }
  }
  return ranges_;
}

}  // namespace stretto
