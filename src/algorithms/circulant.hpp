// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "schedule/schedule.hpp"

namespace stretto {

/// Appends a reduce-scatter by a circulant graph. It takes ⌈log2 p⌉ rounds and p-1 blocks for any p, the
/// fewest possible.
///
/// A rank has a sum for each block; the one at distance d is that of the rank d places ahead. While it has
/// the sums at distances 0 … m-1, it sends those from h = ⌈m/2⌉ on to the rank h places ahead, which has them
/// at distances 0 … m-h-1, and receives as many. So m is halved, rounded up. At the end it has the sum of its
/// own block.
///
/// The sums are in `all`, which has a block for each; block `rank` of it is the result. The first use of a
/// block reads the input. The contributions are added in the order of the graph, so rank order is kept for
/// two ranks only.
///
/// Source: Traeff 2024, "Optimal, Non-pipelined Reduce-scatter and Allreduce Algorithms" (arXiv 2410.14234).
void append_circulant_reduce_scatter(Schedule& schedule, Slice all);

}  // namespace stretto
