// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <bit>

#include "algorithms/allreduce/allreduce.hpp"
#include "algorithms/levels.hpp"
#include "algorithms/predicates.hpp"
#include "text/size.hpp"

namespace stretto::allreduce {
namespace {

bool nodes_are_runs(const Task& task) {
  return task.topology.contiguous;
}

bool nap_has_fixed_tree(const Task& task) {
  const Topology& topology = task.topology;
  const bool perfect =
      topology.min_ppn == topology.max_ppn && std::has_single_bit(static_cast<unsigned>(task.ranks()));
  return topology.nodes == 1 || (topology.contiguous && perfect);
}

std::string_view nap_unsupported(const Task& task) {
  return task.topology.max_ppn == 1 ? "each node has one rank, so its messages cannot be shared" : "";
}

bool part_keeps_order_among_nodes(const Task& task) {
  return task.topology.contiguous && keeps_order(task.parts[0], task.topology.of_leaders());
}

std::string_view multilane_unsupported(const Task& task) {
  return task.topology.min_ppn == 1 ? "a node has one rank only, so there are no lanes" : "";
}

bool reduce_keeps_order(const Task& task) {
  return keeps_order(task.parts[0], task.topology);
}

bool reduce_has_fixed_tree(const Task& task) {
  return has_fixed_tree(task.parts[0], task.topology);
}

constexpr auto rows = std::to_array<Algorithm>({
    {.collective = Collective::allreduce,
     .name = "ring",
     .description = "reduce-scatter and allgather around a ring; least bytes, 2(p-1) rounds",
     .build = ring,
     .keeps_order = up_to_two_ranks,
     .use = {.long_messages = true, .as_part = true, .segment_bytes = {256 * kibibyte}}},
    {.collective = Collective::allreduce,
     .name = "recursive_doubling",
     .description = "pairs at distance 1, 2, 4, … exchange everything; fewest rounds",
     .build = recursive_doubling,
     .keeps_order = always,
     .has_fixed_tree = always,
     .use = {.short_messages = true, .as_part = true}},
    {.collective = Collective::allreduce,
     .name = "rabenseifner",
     .description =
         "recursive halving, then recursive doubling; least bytes when p is a power of two, 2 log2(p) rounds",
     .build = rabenseifner,
     .keeps_order = always,
     .has_fixed_tree = always,
     .use = {.short_messages = true, .long_messages = true, .as_part = true, .segment_bytes = {mebibyte}}},
    {.collective = Collective::allreduce,
     .name = "circulant",
     .description =
         "halvings of a circulant graph; least bytes and fewest rounds for them, 2 log2(p), for any p",
     .build = circulant,
     .keeps_order = up_to_two_ranks,
     .use = {.short_messages = true, .long_messages = true, .segment_bytes = {mebibyte}}},
    {.collective = Collective::allreduce,
     .name = "pairwise",
     .description =
         "contributions directly to the owner of each block; least bytes, 2(p-1) rounds, fixed tree",
     .build = pairwise,
     .keeps_order = always,
     .has_fixed_tree = always},
    {.collective = Collective::allreduce,
     .name = "weighted",
     .description = "each rank owns a part as large as its link is fast; least time if links differ",
     .build = weighted,
     .keeps_order = always,
     .why_unsupported = weighted_unsupported,
     .takes_links = true},
    {.collective = Collective::allreduce,
     .name = "pre_reduced_ring",
     .description =
         "for a rank that comes late: the others reduce before it comes, and n bytes a link are left",
     .build = pre_reduced_ring,
     .keeps_order = pre_reduced_ring_keeps_order,
     .takes_late = true},
    {.collective = Collective::allreduce,
     .name = "two_shot",
     .description = "the same messages in two rounds of p-1: for ranks that share memory; fixed tree",
     .build = two_shot,
     .keeps_order = always,
     .has_fixed_tree = always,
     .why_unsupported = needs_one_node},
    {.collective = Collective::allreduce,
     .name = "knomial",
     .description = "up and down a tree in which ranks have radix-1 children on each level",
     .build = knomial,
     .keeps_order = always,
     .has_fixed_tree = knomial_has_fixed_tree,
     .usual_radix = 4,
     .use = {.short_messages = true}},
    {.collective = Collective::allreduce,
     .name = "recursive_multiplying",
     .description = "groups of radix ranks exchange everything; fewer rounds than with pairs",
     .build = recursive_multiplying,
     .keeps_order = always,
     .has_fixed_tree = recursive_multiplying_has_fixed_tree,
     .usual_radix = 4},
    {.collective = Collective::allreduce,
     .name = "gather_scatter",
     .description =
         "rank 0 gathers all contributions, reduces them and broadcasts the result; for tiny messages",
     .build = gather_scatter,
     .keeps_order = always,
     .has_fixed_tree = always},
    {.collective = Collective::allreduce,
     .name = "shumilin_ring",
     .description = "one half goes around the ring forwards, the other one backwards",
     .build = shumilin_ring,
     .keeps_order = up_to_two_ranks},
    {.collective = Collective::allreduce,
     .name = "swing",
     .description = "rabenseifner with partners that swing from side to side; short distances on a torus",
     .build = swing,
     .keeps_order = swing_keeps_order,
     .has_fixed_tree = swing_keeps_order},
    {.collective = Collective::allreduce,
     .name = "segmented_ring",
     .description = "64 segments or more around the ring in a pipeline, then an allgather",
     .build = segmented_ring,
     .keeps_order = up_to_two_ranks},
    {.collective = Collective::allreduce,
     .name = "reduce_broadcast",
     .description = "a reduce to rank 0, then a broadcast from it",
     .build = reduce_broadcast,
     .keeps_order = reduce_keeps_order,
     .has_fixed_tree = reduce_has_fixed_tree,
     .parts = {{{Collective::reduce, "binomial"}, {Collective::bcast, "binomial"}}}},
    {.collective = Collective::allreduce,
     .name = "nap",
     .description =
         "all ranks of a node share the messages between nodes; each rank sends the fewest of them",
     .build = nap,
     .keeps_order = nodes_are_runs,
     .has_fixed_tree = nap_has_fixed_tree,
     .why_unsupported = nap_unsupported},
    {.collective = Collective::allreduce,
     .name = "multilane",
     .description =
         "cuts the message into lanes; each local rank joins an allreduce among the nodes on its lane",
     .build = multilane,
     .keeps_order = part_keeps_order_among_nodes,
     .why_unsupported = multilane_unsupported,
     .parts = {{{Collective::allreduce, "ring"}}},
     .use = {.short_messages = true, .long_messages = true}},
    {.collective = Collective::allreduce,
     .name = "smp",
     .description = "reduce inside each node, an allreduce among the leaders, broadcast inside",
     .build = smp,
     .keeps_order = smp_keeps_order,
     .has_fixed_tree = smp_has_fixed_tree,
     .why_unsupported = smp_unsupported,
     .parts = {{{Collective::allreduce, "recursive_doubling"}}},
     .use = {.long_messages = true}},
    {.collective = Collective::allreduce,
     .name = "cache_leaders",
     .description = "reduce inside each last-level cache at once, an allreduce among the leaders, and back",
     .build = cache_leaders,
     .keeps_order = by_cache_keeps_order,
     .has_fixed_tree = by_cache_has_fixed_tree,
     .why_unsupported = cache_leaders_unsupported,
     .parts = {{{Collective::allreduce, "recursive_multiplying"}}}},
    {.collective = Collective::allreduce,
     .name = "cache_lanes",
     .description = "cuts the message into lanes; each rank of a cache joins an allreduce among the caches",
     .build = cache_lanes,
     .keeps_order = by_cache_keeps_order,
     .has_fixed_tree = by_cache_has_fixed_tree,
     .why_unsupported = cache_lanes_unsupported,
     .parts = {{{Collective::allreduce, "two_shot"}}}},
});

}  // namespace

std::span<const Algorithm> table() {
  return rows;
}

}  // namespace stretto::allreduce
