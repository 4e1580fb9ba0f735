// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <compare>
#include <cstddef>

#include "select/rule.hpp"
#include "topology/topology.hpp"

namespace stretto {

/// Whether all ranks call in place. It cannot be made of what one rank does alone: MPI asks for MPI_IN_PLACE
/// "at all processes" of some collectives only. Of the others nothing is known (MPI 4.1, sections 6.9
/// to 6.11: a rank that gets nothing from MPI_Reduce_scatter need not have a receive buffer).
class InPlaceEverywhere {
 public:
  constexpr InPlaceEverywhere() = default;
  static constexpr InPlaceEverywhere of(Collective collective, bool is_in_place_here) {
    switch (collective) {
      case Collective::allreduce:
      case Collective::allgather:
      case Collective::alltoall:
      case Collective::alltoallv:
        return InPlaceEverywhere(is_in_place_here);
      default:
        return {};
    }
  }
  constexpr operator bool() const { return is_known_; }
  // NOLINTNEXTLINE(modernize-use-nullptr): a false alarm on what the compiler makes of it
  friend constexpr auto operator<=>(const InPlaceEverywhere&, const InPlaceEverywhere&) = default;

 private:
  explicit constexpr InPlaceEverywhere(bool is_known) : is_known_(is_known) {}
  bool is_known_ = false;
};

/// What decides how a call is carried out. The same on all ranks: STRETTO_CHECK compares every field. What
/// only this rank knows is in the call's Form or its CallBuffers.
struct CallTraits {
  Collective collective = Collective::allreduce;
  std::size_t bytes = 0;
  int root = 0;
  bool commutative = true;
  InPlaceEverywhere in_place = {};
  /// Whether Stretto knows the datatype and the operation. If not, only the library can carry the call
  /// out.
  bool understood = true;
  /// For STRETTO_CHECK: the bytes of one element (0: unknown) and the number of the operation
  /// (engine/data/element.hpp).
  std::size_t element_bytes = 0;
  int operation = 0;
  /// Whether it reduces by a function of the program.
  bool calls_program = false;
  /// Whether it is a call of Stretto itself, which the program does not know of.
  bool is_own = false;
  /// Of an allgather: whether blocks have different lengths, as all ranks know.
  bool has_unequal_blocks = false;
  /// Of a reduce-scatter or an allgather: whether one node has most of the bytes
  /// (CallShape::has_dominant_node).
  bool has_dominant_node = false;
  /// Whether the library's own non-blocking call, in segments, would wait for other ranks at its start.
  bool blocks_in_segments = false;

  // NOLINTNEXTLINE(modernize-use-nullptr): a false alarm on what the compiler makes of it
  friend auto operator<=>(const CallTraits&, const CallTraits&) = default;
};

/// Calls are learnt from by kind: those of up to twice as many bytes are alike. Returns the shortest call of
/// a kind, which stands for it,
inline CallTraits shortest_of(const CallTraits& traits) {
  return {.collective = traits.collective,
          .bytes = std::bit_floor(traits.bytes),
          .root = has_root(traits.collective) ? traits.root : 0,
          .commutative = traits.commutative,
          .in_place = traits.in_place,
          .has_dominant_node = traits.has_dominant_node};
}

/// and the longest one: what is chosen for the kind must serve it, too.
inline CallTraits longest_of(CallTraits traits) {
  traits.bytes = 2 * std::bit_floor(traits.bytes) - 1;
  return traits;
}

/// Whether later jobs may use what is learned from a call: what they find does not distinguish operations
/// that commute, nor equal blocks, from others.
inline bool may_be_kept(const CallTraits& traits) {
  return traits.commutative && !traits.has_dominant_node;
}

/// Returns what the rule chooses by.
inline CallShape shape_of(const CallTraits& traits, const Topology& topology, Form form, bool shares_memory) {
  return {.collective = traits.collective,
          .bytes = traits.bytes,
          .ranks = topology.ranks(),
          .nodes = topology.nodes,
          .min_ppn = topology.min_ppn,
          .max_ppn = topology.max_ppn,
          .min_cache = topology.min_cache,
          .commutative = traits.commutative,
          .has_dominant_node = traits.has_dominant_node,
          .form = form,
          .shares_memory = shares_memory};
}

}  // namespace stretto
