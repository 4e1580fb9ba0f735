// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "algorithms/registry.hpp"
#include "schedule/schedule.hpp"

namespace stretto {

/// Whether the input is a buffer of its own, or MPI_IN_PLACE makes it the same memory as the output.
enum class Placement : std::uint8_t { out_of_place, in_place };

/// What is known of a collective after all of its ranks' schedules were executed symbolically.
struct Proof {
  /// One line that says what is wrong and where; empty when everything holds.
  std::string error;
  /// Every result is a0 op a1 op … in rank order.
  bool keeps_order = true;
  // Of the busiest rank:
  int rounds = 0;  // rounds that hold a message
  std::int64_t messages_sent = 0;
  std::int64_t blocks_sent = 0;

  [[nodiscard]] bool holds() const { return error.empty(); }
};

/// Executes the schedules of all ranks (schedules[r] is that of rank r) with expressions in place of data and
/// proves:
/// - every message has a partner, which takes the same blocks; messages of a pair of ranks match in order;
/// - no deadlock, though a send ends only when its receive has begun (MPI may buffer nothing), whatever the
/// order of
///   delivery: without wildcards what a rank does never depends on it, so one execution stands for all;
/// - no action reads or writes what another of its round writes, nothing is read before it is written, the
/// input is
///   not written unless it is the output, and operands overlap the result exactly or not at all;
/// - the operand with the lowest rank stands on the left, everywhere;
/// - every rank ends with every contribution exactly once, in the same expression on all ranks.
Proof verify(Collective collective, std::span<const Schedule> schedules, Placement placement);

/// Builds the schedules and proves them in both placements, and that `keeps_order` of the registry tells the
/// truth.
Proof verify(const Algorithm& algorithm, const Topology& topology);

}  // namespace stretto
