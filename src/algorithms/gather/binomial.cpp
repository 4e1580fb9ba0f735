// SPDX-License-Identifier: Apache-2.0
// The binomial tree: number the ranks from the root on. In round i each rank whose number is a multiple of
// 2^(i+1) receives all that the rank 2^i places ahead has collected, so every rank sends once. ⌈log2 p⌉
// rounds; a block travels up to as many times. It suits short blocks. Source: textbook.
//
// A run that goes past the last rank is two slices of the root's output, and so two messages.
#include <algorithm>

#include "algorithms/gather/gather.hpp"

namespace stretto::gather {

Schedule binomial(const Task& task, int rank) {
  const int p = task.ranks();
  const int root = task.root;
  const int me = (rank - root + p) % p;
  const auto rank_of = [&](int number) { return (number + root) % p; };
  int held = 1;  // the ranks from this one on whose blocks it collects
  while (held < p && me % (2 * held) == 0) held *= 2;
  held = std::min(held, p - me);
  const bool sends_input = me != 0 && held == 1;

  Schedule schedule(p, rank, p);
  int first = 0;
  if (me != 0 && !sends_input) {
    const int before_the_end = std::min(held, p - rank);
    first = schedule.add_scratch(rank, before_the_end);
    schedule.add_scratch(0, held - before_the_end);
  }
  // Calls visit(slice) for blocks of consecutive numbers at their place on this rank.
  const auto each_slice = [&](int begin, int count, const auto& visit) {
    const int block = rank_of(begin);
    const int before_the_end = std::min(count, p - block);
    const auto place = [&](int at, int length) {
      if (me == 0) return output(rank_of(at), length);
      return sends_input ? input(rank) : scratch(first + at - me, length);
    };
    visit(place(begin, before_the_end));
    if (before_the_end < count) visit(place(begin + before_the_end, count - before_the_end));
  };
  if (!sends_input) schedule.copy(me == 0 ? output(rank) : scratch(first), input(rank));
  for (int distance = 1; distance < held; distance *= 2) {
    const int count = std::min(distance, p - me - distance);
    each_slice(me + distance, count, [&](Slice slice) { schedule.recv(slice, rank_of(me + distance)); });
    schedule.end_round();
  }
  if (me != 0) {
    const int parent = rank_of(me & (me - 1));
    each_slice(me, held, [&](Slice slice) { schedule.send(slice, parent); });
  }
  return schedule.end_round();
}

}  // namespace stretto::gather
