// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

#include "select/rule.hpp"
#include "topology/topology.hpp"

namespace stretto {

/// What decides how a call is carried out. The same on all ranks.
struct CallTraits {
  Collective collective = Collective::allreduce;
  std::size_t bytes = 0;
  int root = 0;
  bool commutative = true;
  /// With MPI_IN_PLACE, where MPI wants it of all ranks or of none.
  bool in_place = false;
  /// Whether Stretto knows the datatype and the operation. If not, only the library can carry the call
  /// out.
  bool understood = true;
  /// For STRETTO_CHECK: the bytes of one element (0: unknown) and the number of the operation
  /// (engine/element.hpp).
  std::size_t element_bytes = 0;
  int operation = 0;
  /// Whether it reduces by a function of the program.
  bool calls_program = false;
  /// Whether it is a call of Stretto itself, which the program does not know of.
  bool is_own = false;
  /// Of an allgather: whether blocks have different lengths, as all ranks know.
  bool has_unequal_blocks = false;
  /// The same as in CallShape.
  bool has_dominant_node = false;
  /// What this rank sends and receives, where other ranks do not know that: never a reason for a choice.
  std::size_t private_bytes = 0;
  /// Whether the library's own non-blocking call, in segments, would wait for other ranks at its start.
  bool blocks_in_segments = false;
};

/// Returns what the rule chooses by.
inline CallShape shape_of(const CallTraits& traits, const Topology& topology, Face face, bool shares_memory) {
  return {.collective = traits.collective,
          .bytes = traits.bytes,
          .ranks = topology.ranks(),
          .nodes = topology.nodes,
          .min_ppn = topology.min_ppn,
          .max_ppn = topology.max_ppn,
          .min_cache = topology.min_cache,
          .commutative = traits.commutative,
          .has_dominant_node = traits.has_dominant_node,
          .face = face,
          .shares_memory = shares_memory};
}

}  // namespace stretto
