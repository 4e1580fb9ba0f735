// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "algorithms/predicates.hpp"
#include "algorithms/scan/scan.hpp"
#include "text/size.hpp"

namespace stretto::scan {
namespace {

constexpr auto rows = std::to_array<Algorithm>({
    {.collective = Collective::scan,
     .name = "recursive_doubling",
     .description = "ranks at distance 1, 2, 4, … pass on all that they have; ⌈log2 p⌉ rounds",
     .build = recursive_doubling,
     .keeps_order = always,
     .has_fixed_tree = always,
     .use = {.short_messages = true}},
    {.collective = Collective::scan,
     .name = "chain",
     .description = "from rank to rank; the whole message once over each link, p-1 rounds",
     .build = chain,
     .keeps_order = always,
     .use = {.short_messages = true, .long_messages = true, .segment_bytes = {64 * kibibyte}}},
    {.collective = Collective::exscan,
     .name = "recursive_doubling",
     .description = "as in scan, after every rank has passed its contribution on; 1+⌈log2(p-1)⌉ rounds",
     .build = recursive_doubling_exclusive,
     .keeps_order = always,
     .has_fixed_tree = always,
     .use = {.short_messages = true}},
    {.collective = Collective::exscan,
     .name = "chain",
     .description = "from rank to rank; the whole message once over each link, p-1 rounds",
     .build = chain_exclusive,
     .keeps_order = always,
     .use = {.short_messages = true, .long_messages = true, .segment_bytes = {64 * kibibyte}}},
});

}  // namespace

std::span<const Algorithm> table() {
  return rows;
}

}  // namespace stretto::scan
