// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "algorithms/barrier/barrier.hpp"
#include "algorithms/predicates.hpp"

namespace stretto::barrier {
namespace {

constexpr auto rows = std::to_array<Algorithm>({
    {.collective = Collective::barrier,
     .name = "dissemination",
     .description = "each rank tells those 1, 2, 4, … places ahead; ⌈log_radix p⌉ rounds",
     .build = dissemination,
     .keeps_order = always,
     .usual_radix = 2,
     .use = {.short_messages = true}},
    {.collective = Collective::barrier,
     .name = "smp",
     .description = "inside nodes to the leader and back, between leaders a dissemination",
     .build = smp,
     .keeps_order = always,
     .why_unsupported = without_lanes,
     .usual_radix = 2,
     .use = {.short_messages = true}},
});

}  // namespace

std::span<const Algorithm> table() {
  return rows;
}

}  // namespace stretto::barrier
