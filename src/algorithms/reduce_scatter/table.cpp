// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "algorithms/predicates.hpp"
#include "algorithms/reduce_scatter/reduce_scatter.hpp"
#include "text/size.hpp"

namespace stretto::reduce_scatter {
namespace {

bool up_to_three_ranks(const Task& task) {
  return task.ranks() <= 3;
}
bool on_consecutive_ranks(const Task& task) {
  return task.topology.contiguous;
}

constexpr auto rows = std::to_array<Algorithm>({
    {.collective = Collective::reduce_scatter,
     .name = "pairwise",
     .description = "each block directly from all ranks to its owner; least bytes, p-1 rounds",
     .build = pairwise,
     .keeps_order = always,
     .has_fixed_tree = always,
     .use = {.long_messages = true}},
    {.collective = Collective::reduce_scatter,
     .name = "direct",
     .description = "the same messages in one round: for ranks that share memory; fixed tree",
     .build = direct,
     .keeps_order = always,
     .has_fixed_tree = always,
     .why_unsupported = needs_one_node},
    {.collective = Collective::reduce_scatter,
     .name = "ring",
     .description = "once around a ring, node after node; least bytes, p-1 rounds",
     .build = ring,
     .keeps_order = up_to_two_ranks,
     .has_fixed_tree = up_to_two_ranks,
     .use = {.long_messages = true, .segment_bytes = {256 * kibibyte}}},
    {.collective = Collective::reduce_scatter,
     .name = "recursive_halving",
     .description = "pairs at distance p/2, p/4, … exchange halves; least bytes when p is a power of two, "
                    "log2(p) rounds",
     .build = recursive_halving,
     .keeps_order = up_to_three_ranks,
     .has_fixed_tree = up_to_three_ranks,
     .moves_runs = true,
     .use = {.short_messages = true, .long_messages = true}},
    {.collective = Collective::reduce_scatter,
     .name = "circulant",
     .description = "halvings of a circulant graph; least bytes and fewest rounds, log2(p), for any p",
     .build = circulant,
     .keeps_order = up_to_two_ranks,
     .has_fixed_tree = up_to_two_ranks,
     .moves_runs = true,
     .use = {.short_messages = true, .long_messages = true}},
    {.collective = Collective::reduce_scatter,
     .name = "multilane",
     .description = "summed inside each node, then all ranks of a node send to other nodes at once; fewest "
                    "bytes between nodes",
     .build = multilane,
     .keeps_order = on_consecutive_ranks,
     .why_unsupported = without_lanes,
     .use = {.short_messages = true, .long_messages = true, .segment_bytes = {256 * kibibyte}}},
});

}  // namespace

std::span<const Algorithm> table() {
  return rows;
}

}  // namespace stretto::reduce_scatter
