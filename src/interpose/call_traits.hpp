// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "engine/mpi.hpp"
#include "select/spec.hpp"

namespace stretto {

/// The three faces of a collective.
enum class Face : std::uint8_t { blocking, non_blocking, persistent };

/// What of a call decides how it is carried out: equal on all ranks.
struct CallTraits {
  Collective collective = Collective::allreduce;
  std::size_t bytes = 0;
  int root = 0;
  bool commutative = true;
  /// Whether Stretto knows the datatype and the operation; if not, only the library can carry it out.
  bool understood = true;
  /// Whether the library's own non-blocking form, in segments, would have to wait for other ranks at once.
  bool blocks_in_segments = false;
};

/// How the program makes a call, and how it is to be counted if it turns out to be the library's.
struct Form {
  Face face = Face::blocking;
  /// Where the program wants the request of a call that is not blocking.
  MPI_Request* request = nullptr;
  /// Empty: the choice.
  std::optional<Spec> forced = std::nullopt;
  /// Set when the library carries it out, and that is to be counted.
  std::optional<CallTraits> counted = std::nullopt;
};

}  // namespace stretto
