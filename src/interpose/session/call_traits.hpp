// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstddef>

#include "select/claims.hpp"
#include "topology/topology.hpp"

namespace stretto {

/// Whether all ranks call in place. A rank can conclude that from its own call only for the collectives for
/// which MPI requires MPI_IN_PLACE "at all processes". For the others it is unknown (MPI 4.1, sections 6.9 to
/// 6.11: a rank that gets nothing from MPI_Reduce_scatter need not have a receive buffer).
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
  // NOLINTNEXTLINE(modernize-use-nullptr): a false alarm on compiler-generated code
  friend constexpr auto operator<=>(const InPlaceEverywhere&, const InPlaceEverywhere&) = default;

 private:
  explicit constexpr InPlaceEverywhere(bool is_known) : is_known_(is_known) {}
  bool is_known_ = false;
};

/// The properties of a call that decide how it is carried out. They are the same on all ranks: STRETTO_CHECK
/// compares every field. Properties that only this rank knows are in the call's Form or its CallBuffers.
struct CallTraits {
  Collective collective = Collective::allreduce;
  std::size_t bytes = 0;
  int root = 0;
  bool commutative = true;
  InPlaceEverywhere in_place = {};
  /// Whether Stretto knows the datatype and the operation. If not, only the MPI library can carry the call
  /// out.
  bool understood = true;
  /// The bytes of one element (0: unknown) and the number of the operation (engine/data/element.hpp). Only
  /// STRETTO_CHECK needs them.
  std::size_t element_bytes = 0;
  int operation = 0;
  /// Whether it reduces with a function of the program.
  bool calls_program = false;
  /// Whether Stretto itself makes the call, unknown to the program.
  bool is_own = false;
  /// Whether the blocks of an allgather have different lengths. All ranks know it.
  bool has_unequal_blocks = false;
  /// Whether one node has most of the bytes of a reduce-scatter or an allgather
  /// (CallShape::has_dominant_node).
  bool has_dominant_node = false;
  /// Whether the library's own non-blocking call, in segments, would wait for other ranks at its start.
  bool blocks_in_segments = false;

  // NOLINTNEXTLINE(modernize-use-nullptr): a false alarm on compiler-generated code
  friend auto operator<=>(const CallTraits&, const CallTraits&) = default;
};

/// Returns the shortest call of the kind to which `traits` belongs; it represents the kind
/// (shortest_of_kind()).
inline CallTraits shortest_of(const CallTraits& traits) {
  return {.collective = traits.collective,
          .bytes = shortest_of_kind(traits.bytes),
          .root = has_root(traits.collective) ? traits.root : 0,
          .commutative = traits.commutative,
          .in_place = traits.in_place,
          .has_dominant_node = traits.has_dominant_node};
}

/// Returns the longest call of the kind. The choice for the kind must serve this call, too.
inline CallTraits longest_of(CallTraits traits) {
  traits.bytes = longest_of_kind(traits.bytes);
  return traits;
}

/// Whether later jobs may use what is learned from a call. The stored results do not say whether the
/// operation commutes, or whether one node has most of the bytes.
inline bool may_be_kept(const CallTraits& traits) {
  return traits.commutative && !traits.has_dominant_node;
}

/// Returns the properties by which the rule chooses.
inline CallShape shape_of(const CallTraits& traits, const Topology& topology, Form form, bool shares_memory) {
  CallShape shape = shape_of(traits.collective, traits.bytes, topology, form);
  shape.commutative = traits.commutative;
  shape.has_dominant_node = traits.has_dominant_node;
  shape.shares_memory = shares_memory;
  return shape;
}

}  // namespace stretto
