// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "model/machine.hpp"
#include "select/rule.hpp"
#include "select/spec.hpp"
#include "text/size.hpp"
#include "topology/topology.hpp"

namespace stretto {

/// A spec, and what a call by it takes according to the model.
struct Modelled {
  Spec spec;
  double seconds = 0;
};

/// Whether an algorithm of Stretto can serve calls of up to so many bytes on these ranks.
bool serves(const Spec& spec, const Topology& topology, std::size_t longest);

/// Returns up to `most` specs that should be fastest for calls of this shape on this machine: the fastest;
/// the same algorithm by messages that libraries send eagerly, and uncut, since the model knows least of the
/// price of a cut; then other algorithms, the fastest first. They come from the registry's short list, those
/// that `fits` accepts. Takes milliseconds, so that a job can ask for it. Not bound to be the same on all
/// ranks: the sums are of doubles.
std::vector<Modelled> find_fastest(const CallShape& shape, const Topology& topology, const Machine& machine,
                                   std::size_t most, const std::function<bool(const Spec&)>& fits);

/// Jobs without MPI take the model's best spec. They ask for these collectives, those that programs call most
/// first, and for these lengths, each four times the one before.
inline constexpr std::array modelled_without_library{
    Collective::allreduce, Collective::allgather, Collective::reduce_scatter, Collective::bcast,
    Collective::reduce,    Collective::alltoall,  Collective::gather,         Collective::scatter};
inline constexpr std::size_t shortest_modelled = 64;
inline constexpr std::size_t longest_modelled = 64 * mebibyte;
inline constexpr std::size_t factor_of_lengths = 4;

/// The least bytes of the calls that go by what was found for this length.
constexpr std::size_t least_bytes_of(std::size_t length) {
  return length == shortest_modelled ? 1 : length / 2;
}

/// The fastest spec for calls of such a length; empty if none fits.
std::optional<Modelled> find_fastest_without_library(const CallShape& shape, const Topology& topology,
                                                     const Machine& machine);

/// Returns the seconds that every spec needs at least for such a call on this machine: for what the links of
/// the nodes must carry. 0: not known (one node, other collectives).
double least_seconds(const CallShape& shape, const Machine& machine);

}  // namespace stretto
