// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "algorithms/registry.hpp"
#include "schedule/schedule.hpp"
#include "topology/topology.hpp"
#include "verify/symmetry.hpp"

namespace stretto {

/// Whether the input is a separate buffer, or MPI_IN_PLACE makes it the same memory as the output.
enum class Placement : std::uint8_t { out_of_place, in_place };

/// The collective that the schedules must perform.
struct Problem {
  Collective collective = Collective::allreduce;
  int root = 0;
  Placement placement = Placement::out_of_place;
};

struct Traffic {
  std::int64_t messages = 0;
  std::int64_t blocks = 0;
};

/// The findings of the symbolic execution of all schedules of a collective.
struct Proof {
  /// One line that says what is wrong and where; empty if the proof holds.
  std::string error;
  /// How many ranks were carried out; fewer than all if they stand for others (Symmetry). Then it is not
  /// known whether results keep rank order or are those of the fixed tree.
  int carried_out = 0;
  /// The schedules of how many others were found to be those of the ranks that stand for them.
  int compared = 0;
  /// Ranks stand for others whose schedules nobody has built, since those of all ranks have too many actions.
  /// Then this is no proof.
  bool is_sample = false;
  /// Every result is a0 op a1 op … in rank order.
  bool keeps_order = true;
  /// Every result is the expression of the fixed tree.
  bool has_fixed_tree = true;
  /// Some block of a private length does not go straight from the rank that has it to the one that wants it.
  bool relays = false;
  int blocks = 1;  // into which the message is cut
  int rounds = 0;  // those of the busiest rank that hold a message
  int depth = 0;   // messages on the longest chain in which each one waits for the one before
  // The traffic that the busiest rank sends. The figures may be of different ranks.
  Traffic between_nodes;
  Traffic within_node;
  std::int64_t messages = 0;
  // The traffic that crosses the link of the busiest node, in the busier direction.
  Traffic link;

  [[nodiscard]] bool holds() const { return error.empty(); }
};

/// Executes the schedules of all ranks (schedules[r] is that of rank r) with expressions in place of data,
/// and proves:
///
/// - Every message has a partner, which takes the same blocks. Messages of a pair of ranks match in order.
/// - There is no deadlock, even though a send ends only when its receive has begun (MPI may buffer nothing).
///   Without wildcards, the actions of a rank never depend on the order of delivery, so one execution stands
///   for all.
/// - No action reads or writes a block that another action of its round writes, nothing is read before it is
///   written, the input is not written unless it is the output, and operands are the result or do not overlap
///   it.
/// - Where only the two ends of a block's way know its length, no block of the output or of scratch is
///   written twice. So each has one length, and the same schedule can move the lengths, in place of data.
/// - Every result is there. Reductions hold every contribution exactly once, in the same expression on all
///   ranks that get it; other results are the data of the rank that has them.
Proof verify(const Problem& problem, std::span<const Schedule> schedules, const Topology& topology);

/// Builds the schedules, proves them in both placements, and checks what the registry says of the recipe.
/// Where the schedules of all ranks would take more than about 3 GiB, ranks that behave alike stand for the
/// others. Throws std::invalid_argument if there are none.
Proof verify(const Recipe& recipe, const Topology& topology, int root = 0);

/// Proves the recipe by the ranks that stand for all others.
Proof verify(const Recipe& recipe, const Topology& topology, const Symmetry& symmetry);

}  // namespace stretto
