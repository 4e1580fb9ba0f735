// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "select/form.hpp"
#include "select/rule_constants.hpp"
#include "select/spec.hpp"

namespace stretto {

/// The properties on which the choice may depend: only those that are equal on all ranks.
struct CallShape {
  Collective collective = Collective::allreduce;
  std::size_t bytes = 0;  // of the whole message, by type signature
  int ranks = 1;
  int nodes = 1;
  int min_ppn = 1;
  int max_ppn = 1;
  int min_cache = 1;  // ranks on the emptiest last-level cache
  bool commutative = true;
  /// Of a reduce-scatter or an allgather: whether one node's blocks hold more than dominant_share of what
  /// they would if all nodes had as much.
  bool has_dominant_node = false;
  Form form = Form::blocking;
  /// Whether messages inside nodes go through Stretto's shared memory (transport/node_memory.hpp).
  bool shares_memory = false;
};

/// From here on, the blocks of a node are better passed on from node to node than sent to each node by their
/// own.
constexpr double dominant_share = 1.25;

/// The choice of the built-in rule, which applies where no tuning table does.
Spec choose(const CallShape& shape, const RuleConstants& rule = rule_constants);

/// What may be faster than `native` for calls whose lengths only two ranks know, if the rank that moves most
/// usually sends `bytes`, and receives as many. Only a race shows whether it is.
Spec choose_for_lengths(const CallShape& shape);

/// The choice for calls that the MPI library must not handle: never native, and keeps rank order.
Spec choose_own(const CallShape& shape);

/// The choice under STRETTO_REPRODUCIBLE: only algorithms that compute the fixed tree
/// (algorithms/fixed_tree.hpp). For reductions.
Spec choose_reproducible(const CallShape& shape);

/// For fewer bytes, choose() returns `native` for any shape. So a small call need not look at its
/// communicator. `sharing_ranks`: the most ranks of a node, if they share memory, or 0.
std::size_t native_floor(Collective collective, Form form = Form::blocking, int sharing_ranks = 0);

/// Shorter blocking calls inside a node take less time than finding out whether another spec is faster.
std::size_t learning_floor(Collective collective, int sharing_ranks);

}  // namespace stretto
