// SPDX-License-Identifier: Apache-2.0
#include "algorithms/bcast/scatter.hpp"

#include <algorithm>
#include <bit>

namespace stretto::bcast {
namespace {

/// Returns the size of the subtree of a number in a complete tree.
int span_of(int ranks, int number) {
  return number == 0 ? static_cast<int>(std::bit_ceil(static_cast<unsigned>(ranks))) : number & -number;
}

}  // namespace

int blocks_from_scatter(int ranks, int number) {
  return std::min(span_of(ranks, number), ranks - number);
}

void scatter(Schedule& schedule, std::span<const int> ranks, int me) {
  const auto rank_of = [&](int number) { return ranks[static_cast<std::size_t>(number)]; };
  const auto run_of = [&](int number) {
    return output(number, blocks_from_scatter(static_cast<int>(ranks.size()), number));
  };

  int span = span_of(static_cast<int>(ranks.size()), me);
  if (me != 0) schedule.recv(run_of(me), rank_of(me - span)).end_round();
  for (span /= 2; span > 0; span /= 2) {
    const int child = me + span;
    if (child < static_cast<int>(ranks.size())) schedule.send(run_of(child), rank_of(child)).end_round();
  }
}

}  // namespace stretto::bcast
