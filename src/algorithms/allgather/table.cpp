// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "algorithms/allgather/allgather.hpp"
#include "algorithms/predicates.hpp"
#include "text/size.hpp"

namespace stretto::allgather {
namespace {

constexpr auto rows = std::to_array<Algorithm>({
    {.collective = Collective::allgather,
     .name = "linear",
     .description = "every block directly from its owner to all, in one round",
     .build = linear,
     .keeps_order = always},
    {.collective = Collective::allgather,
     .name = "ring",
     .description = "once around a ring, node after node; least bytes, p-1 rounds",
     .build = ring,
     .keeps_order = always,
     .use = {.long_messages = true, .segment_bytes = {256 * kibibyte}}},
    {.collective = Collective::allgather,
     .name = "recursive_doubling",
     .description = "pairs at distance 1, 2, 4, … exchange all they hold; log2(p) rounds",
     .build = recursive_doubling,
     .keeps_order = always,
     .moves_runs = true,
     .use = {.short_messages = true, .long_messages = true}},
    {.collective = Collective::allgather,
     .name = "bruck",
     .description =
         "receives from ranks 1, 2, 4, … ahead all that they hold; ⌈log2 p⌉ rounds for any p, least bytes",
     .build = bruck,
     .keeps_order = always,
     .moves_runs = true,
     .use = {.short_messages = true}},
    {.collective = Collective::allgather,
     .name = "neighbor_exchange",
     .description = "swaps pairs of blocks with neighbours; ⌈p/2⌉ rounds, least bytes",
     .build = neighbor_exchange,
     .keeps_order = always,
     .moves_runs = true},
    {.collective = Collective::allgather,
     .name = "multilane",
     .description =
         "all ranks of a node receive blocks from other nodes at once, and exchange them inside it",
     .build = multilane,
     .keeps_order = always,
     .why_unsupported = without_lanes,
     .use = {.short_messages = true, .long_messages = true, .segment_bytes = {256 * kibibyte}}},
});

}  // namespace

std::span<const Algorithm> table() {
  return rows;
}

}  // namespace stretto::allgather
