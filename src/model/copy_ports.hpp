// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/cut.hpp"
#include "model/instant.hpp"
#include "model/machine.hpp"
#include "model/staged_blocks.hpp"
#include "schedule/staging.hpp"

namespace stretto {

/// The copies of all ranks of a call whose buffers are in device memory. In each direction they come one
/// after the other, in the order in which the engine asks for them (engine/execution/schedule_execution.cpp).
/// Asking takes no time of the core.
class CopyPorts {
 public:
  CopyPorts(const StagedBlocks& blocks, const WalkedCall& call, const Device& device, const Cut& cut,
            std::size_t ranks)
      : blocks_(blocks),
        is_whole_(call.staging == Staging::whole),
        element_bytes_(static_cast<double>(call.element_bytes)),
        device_(device),
        cut_(cut),
        ranks_(ranks) {}

  /// Begins to fetch the blocks that a rank reads in the segments up to this one, and in some more. If the
  /// call is staged as a whole, fetches all of them.
  void fetch_until(int rank, std::size_t segment, const Instant& now) {
    Rank& ports = at(rank);
    const std::vector<StagedRank::Part>& parts = blocks_[rank].fetched;
    if (is_whole_) {
      if (ports.fetched_segments == 0)
        ports.arrivals.push_back(copied(ports.to_host, now, bytes_of(parts), to_host));
      ports.fetched_segments = cut_.segments();
      return;
    }
    const std::size_t end = std::min(segment + 1 + segments_ahead, cut_.segments());
    for (; ports.fetched_segments < end; ++ports.fetched_segments) {
      for (const StagedRank::Part& part : parts) {
        ports.arrivals.push_back(copied(ports.to_host, now, bytes_of(part, ports.fetched_segments), to_host));
      }
    }
  }

  /// Returns when all blocks have arrived that this round of a segment, and the rounds before it, read;
  /// nullptr if they read nothing.
  [[nodiscard]] const Instant* arrival(int rank, std::size_t segment, std::uint32_t round) const {
    const Rank& ports = ranks_[static_cast<std::size_t>(rank)];
    if (is_whole_) return &ports.arrivals.front();
    const std::vector<StagedRank::Part>& parts = blocks_[rank].fetched;
    const auto end = std::ranges::upper_bound(parts, round, {}, &StagedRank::Part::round);
    const auto in_segment = static_cast<std::size_t>(end - parts.begin());
    return in_segment == 0 ? nullptr : &ports.arrivals[segment * parts.size() + in_segment - 1];
  }

  /// Begins to put back the blocks that are not written after this round of a segment.
  void put_back(int rank, std::size_t segment, std::uint32_t round, const Instant& now) {
    if (is_whole_) return;
    const std::vector<StagedRank::Part>& parts = blocks_[rank].put_back;
    const auto part = std::ranges::lower_bound(parts, round, {}, &StagedRank::Part::round);
    if (part == parts.end() || part->round != round) return;
    copied(at(rank).to_device, now, bytes_of(*part, segment), to_device);
  }

  /// Returns when a rank has its result on the device, if its last segment has ended by `now`.
  Instant end(int rank, const Instant& now) {
    Rank& ports = at(rank);
    if (is_whole_) return copied(ports.to_device, now, bytes_of(blocks_[rank].put_back), to_device);
    return later(now, ports.to_device);
  }

 private:
  enum Direction : std::uint8_t { to_host, to_device };
  struct Rank {
    std::size_t fetched_segments = 0;
    std::vector<Instant> arrivals;  // of each segment's parts
    // The times at which the last copy of each direction ends:
    Instant to_host;
    Instant to_device;
  };

  Rank& at(int rank) { return ranks_[static_cast<std::size_t>(rank)]; }

  [[nodiscard]] double bytes_of(const StagedRank::Part& part, std::size_t segment) const {
    std::size_t elements = 0;
    for (const Plan::Run& run : part.runs) elements += cut_.elements(run, segment);
    return static_cast<double>(elements) * element_bytes_;
  }
  [[nodiscard]] double bytes_of(const std::vector<StagedRank::Part>& parts) const {
    double bytes = 0;
    for (std::size_t segment = 0; segment < cut_.segments(); ++segment) {
      for (const StagedRank::Part& part : parts) bytes += bytes_of(part, segment);
    }
    return bytes;
  }

  /// Adds a copy that is asked for now. Returns its end.
  const Instant& copied(Instant& port, const Instant& now, double bytes, Direction direction) const {
    port = later(now, port);
    if (bytes > 0) port = port.after(device_.seconds(bytes, direction == to_host), Part::copy);
    return port;
  }

  const StagedBlocks& blocks_;
  bool is_whole_;
  double element_bytes_;
  Device device_;
  const Cut& cut_;
  std::vector<Rank> ranks_;
};

}  // namespace stretto
