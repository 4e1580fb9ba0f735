// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <bit>

#include "algorithms/levels.hpp"
#include "algorithms/predicates.hpp"
#include "algorithms/reduce/reduce.hpp"
#include "text/size.hpp"

namespace stretto::reduce {
namespace {

bool binary_on_a_power_of_two(const Task& task) {
  return task.radix == 2 && std::has_single_bit(static_cast<unsigned>(task.ranks()));
}

constexpr auto rows = std::to_array<Algorithm>({
    {.collective = Collective::reduce,
     .name = "binomial",
     .description = "binomial tree; fewest rounds",
     .build = binomial,
     .keeps_order = always,
     .has_fixed_tree = always,
     .use = {.short_messages = true, .as_part = true}},
    {.collective = Collective::reduce,
     .name = "knomial",
     .description = "tree in which a rank receives from radix-1 others in a round",
     .build = knomial,
     .keeps_order = always,
     .has_fixed_tree = binary_on_a_power_of_two,
     .usual_radix = 4},
    {.collective = Collective::reduce,
     .name = "linear",
     .description = "the root receives from one rank after the other",
     .build = linear,
     .keeps_order = always,
     .has_fixed_tree = up_to_two_ranks},
    {.collective = Collective::reduce,
     .name = "chain",
     .description = "from rank to rank and node to node, towards the root; for many segments",
     .build = chain,
     .keeps_order = chain_keeps_order,
     .has_fixed_tree = up_to_two_ranks,
     .use = {.short_messages = true,
             .long_messages = true,
             .as_part = true,
             .only_in_segments = true,
             .segment_bytes = {8 * kibibyte, 32 * kibibyte}}},
    {.collective = Collective::reduce,
     .name = "circulant",
     .description = "log2(p) blocks, each along a tree of its own; 2 log2(p) rounds, no rank receives twice; "
                    "for many segments",
     .build = circulant,
     .keeps_order = circulant_keeps_order,
     .has_fixed_tree = up_to_two_ranks,
     .use = {.long_messages = true, .as_part = true, .segment_bytes = {256 * kibibyte}}},
    {.collective = Collective::reduce,
     .name = "rabenseifner",
     .description = "recursive halving, then a gather; 1½ times the message at most, 2 log2(p) rounds",
     .build = rabenseifner,
     .keeps_order = always,
     .has_fixed_tree = always,
     .use = {.long_messages = true, .as_part = true, .segment_bytes = {mebibyte}}},
    {.collective = Collective::reduce,
     .name = "smp",
     .description = "a reduce inside each node, then among the leaders of the nodes",
     .build = smp,
     .keeps_order = smp_keeps_order,
     .has_fixed_tree = smp_has_fixed_tree,
     .why_unsupported = smp_unsupported,
     .parts = {{{Collective::reduce, "binomial"}}},
     .use = {.short_messages = true, .long_messages = true}},
});

}  // namespace

std::span<const Algorithm> table() {
  return rows;
}

}  // namespace stretto::reduce
