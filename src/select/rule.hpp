// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "select/spec.hpp"

namespace stretto {

/// What the choice may depend on: only what MPI guarantees to be equal on all ranks.
struct CallShape {
  std::size_t bytes = 0;  // data of the message, by type signature
  int ranks = 1;
  int nodes = 1;
  int max_ppn = 1;
  bool commutative = true;
};

/// The built-in rule of allreduce, for when no tuning table speaks.
Spec choose_allreduce(const CallShape& shape);

/// Below this many bytes choose_allreduce() says `native` whatever the rest of the shape is, so that a small
/// call need not look at its communicator.
std::size_t allreduce_native_floor();

}  // namespace stretto
