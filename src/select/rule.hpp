// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "select/face.hpp"
#include "select/rule_constants.hpp"
#include "select/spec.hpp"

namespace stretto {

/// What the choice may depend on: only what MPI guarantees to be equal on all ranks.
struct CallShape {
  Collective collective = Collective::allreduce;
  std::size_t bytes = 0;  // data of the whole message, by type signature
  int ranks = 1;
  int nodes = 1;
  int min_ppn = 1;
  int max_ppn = 1;
  bool commutative = true;
  Face face = Face::blocking;
};

/// The built-in rule, for when no tuning table speaks.
Spec choose(const CallShape& shape, const RuleConstants& rule = rule_constants);

/// For calls that must not be the library's own: never native, and keeps rank order.
Spec choose_own(const CallShape& shape);

/// The rule of STRETTO_REPRODUCIBLE: only what computes the fixed tree (algorithms/fixed_tree.hpp). For
/// reductions.
Spec choose_reproducible(const CallShape& shape);

/// Below this many bytes choose() says `native` whatever the rest of the shape is, so that a small call need
/// not look at its communicator.
std::size_t native_floor(Collective collective, Face face = Face::blocking);

}  // namespace stretto
