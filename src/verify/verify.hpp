// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "algorithms/registry.hpp"
#include "schedule/schedule.hpp"
#include "topology/topology.hpp"

namespace stretto {

/// Whether the input is a buffer of its own, or MPI_IN_PLACE makes it the same memory as the output.
enum class Placement : std::uint8_t { out_of_place, in_place };

/// What the schedules are to bring about.
struct Problem {
  Collective collective = Collective::allreduce;
  int root = 0;
  Placement placement = Placement::out_of_place;
};

struct Traffic {
  std::int64_t messages = 0;
  std::int64_t blocks = 0;
};

/// What is known of a collective after all of its ranks' schedules were executed symbolically.
struct Proof {
  /// One line that says what is wrong and where; empty when everything holds.
  std::string error;
  /// Every result is a0 op a1 op … in rank order.
  bool keeps_order = true;
  /// Every result is the expression of the fixed tree.
  bool has_fixed_tree = true;
  int blocks = 1;  // that the message is cut into
  int rounds = 0;  // that hold a message, of the busiest rank
  int depth = 0;   // messages on the longest chain in which each one waits for the one before
  // What the busiest rank sends, each figure for itself:
  Traffic between_nodes;
  Traffic within_node;
  std::int64_t messages = 0;
  // What crosses the link of the busiest node, in the busier direction:
  Traffic link;

  [[nodiscard]] bool holds() const { return error.empty(); }
};

/// Executes the schedules of all ranks (schedules[r] is that of rank r) with expressions in place of data and
/// proves:
/// - every message has a partner, which takes the same blocks; messages of a pair of ranks match in order;
/// - no deadlock, though a send ends only when its receive has begun (MPI may buffer nothing), whatever the
///   order of delivery: without wildcards what a rank does never depends on it, so one execution stands for
///   all;
/// - no action reads or writes what another of its round writes, nothing is read before it is written, the
///   input is not written unless it is the output, and operands overlap the result exactly or not at all;
/// - the operand with the lowest rank stands on the left, everywhere;
/// - every result is there: reductions hold every contribution exactly once, the same expression on all ranks
///   that get it; what is moved is what was sent.
Proof verify(const Problem& problem, std::span<const Schedule> schedules, const Topology& topology);

/// Builds the schedules and proves them in both placements, and that the predicates of the registry tell the
/// truth.
Proof verify(const Recipe& recipe, const Topology& topology, int root = 0);

}  // namespace stretto
