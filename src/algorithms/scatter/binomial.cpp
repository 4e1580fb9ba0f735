// SPDX-License-Identifier: Apache-2.0
// The binomial tree: number the ranks from the root on. A rank receives the blocks of a run of ranks that
// begins with itself, and gives the upper half of what it still holds to the rank in its middle, again and
// again. ⌈log2 p⌉ rounds; a block travels up to as many times. For short blocks. Source: textbook.
//
// A run that goes past the last rank is two slices of the root's input, and so two messages.
#include <algorithm>

#include "algorithms/scatter/scatter.hpp"

namespace stretto::scatter {

Schedule binomial(const Task& task, int rank) {
  const int p = task.ranks();
  const int root = task.root;
  const int me = (rank - root + p) % p;
  const auto rank_of = [&](int number) { return (number + root) % p; };
  int span = 1;
  while (span < p && me % (2 * span) == 0) span *= 2;
  const int held = std::min(span, p - me);
  const bool is_leaf = me != 0 && held == 1;

  Schedule schedule(p, rank, p);
  int first = 0;
  if (me != 0 && !is_leaf) {
    first = schedule.add_scratch(rank);
    for (int i = 1; i < held; ++i) schedule.add_scratch(rank_of(me + i));
  }
  // Calls visit(slice) for blocks of consecutive numbers at their place on this rank.
  const auto each_slice = [&](int begin, int count, const auto& visit) {
    const int before_the_end = std::min(count, p - rank_of(begin));
    const auto place = [&](int at, int length) {
      if (me == 0) return input(rank_of(at), length);
      return is_leaf ? output(rank) : scratch(first + at - me, length);
    };
    visit(place(begin, before_the_end));
    if (before_the_end < count) visit(place(begin + before_the_end, count - before_the_end));
  };
  if (me != 0) {
    const int parent = rank_of(me & (me - 1));
    each_slice(me, held, [&](Slice slice) { schedule.recv(slice, parent); });
    schedule.end_round();
  }
  for (int distance = span / 2; distance > 0; distance /= 2) {
    if (me + distance >= p) continue;
    const int count = std::min(distance, p - me - distance);
    each_slice(me + distance, count, [&](Slice slice) { schedule.send(slice, rank_of(me + distance)); });
    schedule.end_round();
  }
  if (!is_leaf) schedule.copy(output(rank), me == 0 ? input(rank) : scratch(first));
  return schedule.end_round();
}

}  // namespace stretto::scatter
