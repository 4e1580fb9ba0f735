// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "algorithms/gather/gather.hpp"
#include "algorithms/predicates.hpp"
#include "algorithms/scatter/scatter.hpp"

namespace stretto::scatter {
namespace {

template <Schedule (*gather)(const Task& task, int rank)>
Schedule backwards(const Task& task, int rank) {
  return gather(task, rank).reversed();
}

/// The receivers of a round of `linear`, and one more.
constexpr int usual_window = 17;

constexpr Algorithm binomial_row{.collective = Collective::scatter,
                                 .name = "binomial",
                                 .description = "blocks go along a tree; log2(p) rounds, more bytes",
                                 .build = backwards<gather::binomial>,
                                 .keeps_order = always,
                                 .moves_runs = true,
                                 .use = {.short_messages = true}};

constexpr Algorithm smp_row{.collective = Collective::scatter,
                            .name = "smp",
                            .description = "the root sends leaders the blocks of their nodes",
                            .build = backwards<gather::smp>,
                            .keeps_order = always,
                            .why_unsupported = without_lanes,
                            .moves_runs = true,
                            .use = {.short_messages = true, .long_messages = true}};

constexpr Algorithm linear_row{
    .collective = Collective::scatter,
    .name = "linear",
    .description = "the root sends every block to its rank, radix-1 at a time; least bytes",
    .build = backwards<gather::linear>,
    .keeps_order = always,
    .usual_radix = usual_window,
    .use = {.short_messages = true, .long_messages = true}};

constexpr auto rows = std::to_array<Algorithm>({
    linear_row,
    binomial_row,
    smp_row,
    with_private_lengths(linear_row, Collective::scatterv),
    relaying(binomial_row, Collective::scatterv),
    relaying(smp_row, Collective::scatterv),
});

}  // namespace

std::span<const Algorithm> table() {
  return rows;
}

}  // namespace stretto::scatter
