// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "algorithms/alltoall/alltoall.hpp"
#include "algorithms/predicates.hpp"
#include "text/size.hpp"

namespace stretto::alltoall {
namespace {

/// The partners of a round of `linear`, and one more: enough to hide latencies.
constexpr int usual_window = 33;

std::string_view too_few_ranks_for_leaders(const Task& task) {
  return task.topology.max_ppn <= task.radix ? "no node has more ranks than leaders: multilane is the same"
                                             : "";
}

constexpr Algorithm bruck_row{
    .collective = Collective::alltoall,
    .name = "bruck",
    .description = "blocks travel by the digits of their distance; ⌈log_radix p⌉ rounds, more bytes",
    .build = bruck,
    .keeps_order = always,
    .usual_radix = 2,
    .moves_runs = true,
    .use = {.short_messages = true, .as_part = true}};

constexpr Algorithm smp_row{.collective = Collective::alltoall,
                            .name = "smp",
                            .description = "leaders of nodes exchange the blocks of all their ranks",
                            .build = smp,
                            .keeps_order = always,
                            .why_unsupported = without_lanes,
                            .moves_runs = true,
                            .parts = {{{Collective::alltoall, "linear"}}},
                            .use = {.short_messages = true}};

constexpr Algorithm multileader_row{
    .collective = Collective::alltoall,
    .name = "multileader",
    .description = "radix leaders of each node exchange the blocks of its ranks",
    .build = multileader,
    .keeps_order = always,
    .why_unsupported = too_few_ranks_for_leaders,
    .usual_radix = 2,
    .moves_runs = true,
    .parts = {{{Collective::alltoall, "linear"}}}};

constexpr Algorithm multilane_row{
    .collective = Collective::alltoall,
    .name = "multilane",
    .description = "ranks of a node collect blocks for one lane each; one message for each other node",
    .build = multilane,
    .keeps_order = always,
    .why_unsupported = without_lanes,
    .moves_runs = true,
    .parts = {{{Collective::alltoall, "linear"}}},
    .use = {.short_messages = true, .long_messages = true}};

constexpr Algorithm linear_row{
    .collective = Collective::alltoall,
    .name = "linear",
    .description = "every block directly to its rank, radix-1 at a time; least bytes",
    .build = linear,
    .keeps_order = always,
    .usual_radix = usual_window,
    .use = {.short_messages = true, .long_messages = true, .as_part = true}};

constexpr Algorithm pairwise_row{
    .collective = Collective::alltoall,
    .name = "pairwise",
    .description = "every block directly to its rank, one partner a round; least bytes, p-1 rounds",
    .build = pairwise,
    .keeps_order = always,
    .use = {.long_messages = true, .segment_bytes = {256 * kibibyte}}};

constexpr auto rows = std::to_array<Algorithm>({
    linear_row,
    pairwise_row,
    bruck_row,
    smp_row,
    multileader_row,
    multilane_row,
    with_private_lengths(linear_row, Collective::alltoallv),
    with_private_lengths(pairwise_row, Collective::alltoallv),
    relaying(bruck_row, Collective::alltoallv),
    relaying(smp_row, Collective::alltoallv),
    relaying(multileader_row, Collective::alltoallv),
    relaying(multilane_row, Collective::alltoallv),
});

}  // namespace

std::span<const Algorithm> table() {
  return rows;
}

int add_blocks(Schedule& schedule, int count) {
  const auto first = static_cast<int>(schedule.scratch_shape().size());
  for (int i = 0; i < count; ++i) schedule.add_scratch(0);
  return first;
}

}  // namespace stretto::alltoall
