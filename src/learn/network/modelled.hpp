// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "model/machine.hpp"
#include "select/rule.hpp"
#include "select/spec.hpp"
#include "topology/topology.hpp"

namespace stretto {

/// A spec, and what a call by it takes according to the model.
struct Modelled {
  Spec spec;
  double seconds = 0;
};

/// Returns up to `most` specs that should be fastest for calls of this shape on this machine: the fastest;
/// the same algorithm by messages that libraries send eagerly, and uncut, since the model knows least of the
/// price of a cut; then other algorithms, the fastest first. They come from the registry's short list, those
/// that `fits` accepts. Takes milliseconds, so that a job can ask for it. Not bound to be the same on all
/// ranks: the sums are of doubles.
std::vector<Modelled> find_fastest(const CallShape& shape, const Topology& topology, const Machine& machine,
                                   std::size_t most, const std::function<bool(const Spec&)>& fits);

/// Returns the seconds that every spec needs at least for such a call on this machine: for what the links of
/// the nodes must carry. 0: not known (one node, other collectives).
double least_seconds(const CallShape& shape, const Machine& machine);

}  // namespace stretto
