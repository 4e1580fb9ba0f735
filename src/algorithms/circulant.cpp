// SPDX-License-Identifier: Apache-2.0
#include "algorithms/circulant.hpp"

#include <algorithm>

namespace stretto {

void append_circulant_reduce_scatter(Schedule& schedule, Slice all) {
  const int p = schedule.ranks();
  const int rank = schedule.rank();
  const auto sum = [&](int first, int count) { return Slice{all.buffer, all.first + first, count}; };
  // A run that goes past the last block is two slices, and so two messages, for both of its ends.
  const auto for_each_slice = [&](int distance, int count, auto visit) {
    const int first = (rank + distance) % p;
    const int before_the_end = std::min(count, p - first);
    visit(first, before_the_end);
    if (count > before_the_end) visit(0, count - before_the_end);
  };
  for (int held = p; held > 1;) {
    const bool is_first = held == p;
    const int half = (held + 1) / 2;
    const int sent = held - half;
    const int to = (rank + half) % p;
    const int from = (rank + p - half) % p;
    const auto mine = [&](int first, int count) {
      return is_first ? input(first, count) : sum(first, count);
    };
    for_each_slice(half, sent, [&](int first, int count) { schedule.send(mine(first, count), to); });
    for_each_slice(0, sent, [&](int first, int count) {
      schedule.recv_reduce(sum(first, count), mine(first, count), from,
                           from < rank ? Side::left : Side::right);
    });
    // If the number of blocks is odd, the last one that is kept stays as it is. Later rounds read all blocks
    // from the sums, so it is copied there.
    if (is_first && sent < half) {
      const int alone = (rank + half - 1) % p;
      schedule.copy(sum(alone, 1), input(alone));
    }
    schedule.end_round();
    held = half;
  }
}

}  // namespace stretto
