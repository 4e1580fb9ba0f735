// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "algorithms/bcast/bcast.hpp"
#include "algorithms/levels.hpp"
#include "algorithms/predicates.hpp"
#include "text/size.hpp"

namespace stretto::bcast {
namespace {

constexpr auto rows = std::to_array<Algorithm>({
    {.collective = Collective::bcast,
     .name = "binomial",
     .description = "binomial tree; fewest rounds",
     .build = binomial,
     .keeps_order = always,
     .use = {.short_messages = true, .as_part = true, .segment_bytes = {32 * kibibyte}}},
    {.collective = Collective::bcast,
     .name = "knomial",
     .description = "tree in which a rank sends to radix-1 others in a round",
     .build = knomial,
     .keeps_order = always,
     .usual_radix = 4},
    {.collective = Collective::bcast,
     .name = "linear",
     .description = "the root sends to all others at once",
     .build = linear,
     .keeps_order = always},
    {.collective = Collective::bcast,
     .name = "chain",
     .description = "from rank to rank and node to node; for many segments",
     .build = chain,
     .keeps_order = always,
     .use = {.short_messages = true,
             .long_messages = true,
             .as_part = true,
             .only_in_segments = true,
             .segment_bytes = {8 * kibibyte, 32 * kibibyte}}},
    {.collective = Collective::bcast,
     .name = "circulant",
     .description =
         "log2(p) blocks, each along a tree of its own; 2 log2(p) rounds, no rank sends twice; for "
         "many segments",
     .build = circulant,
     .keeps_order = always,
     .use = {.long_messages = true, .as_part = true, .segment_bytes = {256 * kibibyte}}},
    {.collective = Collective::bcast,
     .name = "scatter_allgather",
     .description = "binomial scatter, then a ring; twice the message at most, log2(p) + p-1 rounds",
     .build = scatter_allgather,
     .keeps_order = always,
     .use = {.long_messages = true, .as_part = true}},
    {.collective = Collective::bcast,
     .name = "scatter_recursive_doubling",
     .description = "binomial scatter, then recursive doubling; 2 log2(p) rounds",
     .build = scatter_recursive_doubling,
     .keeps_order = always},
    {.collective = Collective::bcast,
     .name = "smp",
     .description = "a broadcast among the leaders of the nodes, then inside each node",
     .build = smp,
     .keeps_order = always,
     .why_unsupported = smp_unsupported,
     .parts = {{{Collective::bcast, "binomial"}}},
     .use = {.short_messages = true, .long_messages = true}},
});

}  // namespace

std::span<const Algorithm> table() {
  return rows;
}

}  // namespace stretto::bcast
