// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "algorithms/gather/gather.hpp"
#include "algorithms/predicates.hpp"

namespace stretto::gather {
namespace {

/// The senders of a round of `linear`, and one more.
constexpr int usual_window = 17;

constexpr Algorithm binomial_row{
    .collective = Collective::gather,
    .name = "binomial",
    .description = "ranks collect blocks along a tree; log2(p) rounds, more bytes",
    .build = binomial,
    .keeps_order = always,
    .moves_runs = true,
    .use = {.short_messages = true}};

constexpr Algorithm smp_row{
    .collective = Collective::gather,
    .name = "smp",
    .description = "leaders collect the blocks of their nodes and send them to the root",
    .build = smp,
    .keeps_order = always,
    .why_unsupported = without_lanes,
    .moves_runs = true,
    .use = {.short_messages = true, .long_messages = true}};

constexpr Algorithm linear_row{
    .collective = Collective::gather,
    .name = "linear",
    .description = "the root receives every block from its owner, radix-1 at a time; least bytes",
    .build = linear,
    .keeps_order = always,
    .usual_radix = usual_window,
    .use = {.short_messages = true, .long_messages = true}};

constexpr auto rows = std::to_array<Algorithm>({
    linear_row,
    binomial_row,
    smp_row,
    with_private_lengths(linear_row, Collective::gatherv),
    relaying(binomial_row, Collective::gatherv),
    relaying(smp_row, Collective::gatherv),
});

}  // namespace

std::span<const Algorithm> table() {
  return rows;
}

}  // namespace stretto::gather
