// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "model/machine.hpp"
#include "select/claims.hpp"
#include "select/spec.hpp"
#include "text/size.hpp"
#include "topology/topology.hpp"

namespace stretto {

/// Returns up to `most` specs that should be fastest for calls of this shape on this machine. The fastest
/// comes first. Its algorithm follows with messages that MPI libraries send eagerly, and uncut, because the
/// model predicts the cost of a cut least well. Then come other algorithms, the fastest first. All are on the
/// registry's short list, and `fits` accepts them. Takes milliseconds, so a job can call it. Ranks may get
/// different results, because sums of doubles decide.
std::vector<Finding> find_fastest(const CallShape& shape, const Topology& topology, const Machine& machine,
                                  std::size_t most, const std::function<bool(const Spec&)>& fits);

/// Returns the specs that a job with an MPI library considers for the kind of calls to which the question's
/// belongs: they serve all calls of the kind, and their times are those of the shortest one.
std::vector<Finding> find_fastest(const Question& question, const Machine& machine);

/// Jobs without MPI use the model's best spec, until their calls show that another one is faster. They ask
/// for these collectives, those that programs call most first, and for these lengths, each four times the one
/// before.
inline constexpr std::array modelled_without_library{
    Collective::allreduce, Collective::allgather, Collective::reduce_scatter, Collective::bcast,
    Collective::reduce,    Collective::alltoall,  Collective::gather,         Collective::scatter};
inline constexpr std::size_t shortest_modelled = 64;
inline constexpr std::size_t longest_modelled = 64 * mebibyte;
inline constexpr std::size_t factor_of_lengths = 4;

/// Returns the bytes of the shortest call that uses the spec found for this length.
constexpr std::size_t least_bytes_of(std::size_t length) {
  return length == shortest_modelled ? 1 : length / 2;
}

/// Returns the length for which a job without MPI asks, to decide about calls of so many bytes.
std::size_t modelled_length(std::size_t bytes);

/// Returns the spec of an allreduce for links of these rates (bytes per second of each node): one that goes
/// by the links if that is faster on uneven ones, else `spec`. All ranks get the same result, without the
/// model.
Spec spec_for_links(const Question& question, const std::vector<double>& rates, const Spec& spec);

/// Returns the specs that a job without MPI considers for calls of this shape.
std::vector<Finding> find_fastest_without_library(const CallShape& shape, const Topology& topology,
                                                  const Machine& machine);

/// Returns the seconds that any spec needs at least for such a call on this machine: the time that the nodes'
/// links need for the bytes that must cross them. 0: not known (one node, other collectives).
double least_seconds(const CallShape& shape, const Machine& machine);

/// Returns the seconds by which a call may be faster because links were idle before it. 0: processors are
/// slower than links.
double saved_seconds(const Machine& machine);

}  // namespace stretto
