// SPDX-License-Identifier: Apache-2.0
// The recipes that are worth trying. Everything here derives from the rows of the registry (Algorithm::Use).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "algorithms/registry.hpp"

namespace stretto {

/// A recipe that is known to be among the fastest for some messages.
struct ShortListed {
  Recipe recipe;
  bool short_messages = false;
  bool long_messages = false;
  bool needs_shared_nodes = false;
  bool whole = false;                      // worth trying without segments
  std::vector<std::size_t> segment_bytes;  // segment sizes worth trying
};

/// Returns the few recipes of a collective that are worth a measurement, in the order of the registry. A
/// composed algorithm is listed with those parts that gain by segments: its phases overlap only across
/// segments.
std::span<const ShortListed> short_list(Collective collective);

/// Returns all recipes of an algorithm that a search should try, the usual one first. A composed algorithm is
/// tried with every algorithm that is useful as a part; two parts must be good for the same messages.
std::vector<Recipe> recipes_to_search(const Algorithm& algorithm);

/// Whether the algorithm needs nodes of several ranks.
bool needs_shared_nodes(const Algorithm& algorithm);

/// Whether the algorithm, or one of its parts, is slow unless the message is cut into segments.
bool needs_segments(const Recipe& recipe);

}  // namespace stretto
