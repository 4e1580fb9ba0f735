// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "schedule/topology.hpp"
#include "select/rule.hpp"

namespace stretto {

/// What of a call decides how it is carried out: equal on all ranks.
struct CallTraits {
  Collective collective = Collective::allreduce;
  std::size_t bytes = 0;
  int root = 0;
  bool commutative = true;
  /// Whether Stretto knows the datatype and the operation; if not, only the library can carry it out.
  bool understood = true;
  /// For STRETTO_CHECK: of one element (0: unknown), and by which it is reduced (engine/element.hpp).
  std::size_t element_bytes = 0;
  int operation = 0;
  /// Reduces by a function of the program's.
  bool calls_program = false;
  /// Stretto's own, that the program knows nothing of.
  bool is_own = false;
  /// Whether the library's own non-blocking form, in segments, would have to wait for other ranks at once.
  bool blocks_in_segments = false;
};

/// Returns what the rule chooses by.
inline CallShape shape_of(const CallTraits& traits, const Topology& topology, Face face) {
  return {.collective = traits.collective,
          .bytes = traits.bytes,
          .ranks = topology.ranks(),
          .nodes = topology.nodes,
          .min_ppn = topology.min_ppn,
          .max_ppn = topology.max_ppn,
          .commutative = traits.commutative,
          .face = face};
}

}  // namespace stretto
