// SPDX-License-Identifier: Apache-2.0
// Recursive halving (Thakur, Rabenseifner and Gropp 2005): two partners hold the same run of blocks,
// exchange the halves that the other one continues with, and reduce. log2(p) rounds; if p is a power of two,
// as few bytes as a ring. For any other p, the extra ranks first send their whole message to a neighbour,
// which handles both blocks and returns one at the end: two more rounds.
//
// The distance shrinks (p/2, p/4, …), so the halves are runs of consecutive blocks and a message is one run.
// But then partners hold interleaved ranks, so rank order is kept only if there is a single round: up to
// three ranks. (Growing distances would keep it, but leave the ranks with bit-reversed blocks.) Of two
// partners, the one with the lower number holds the lowest rank.
#include "algorithms/core.hpp"
#include "algorithms/reduce_scatter/reduce_scatter.hpp"

namespace stretto::reduce_scatter {

Schedule recursive_halving(const Task& task, int rank) {
  const int p = task.ranks();
  Schedule schedule(p, rank, p);
  const Core core(p);
  if (core.hands_over(rank)) {
    schedule.send(input(0, p), rank + 1).end_round();
    return schedule.recv(output(rank), rank + 1).end_round();
  }
  Slice mine = input(0, p);
  int first = 0;  // the first block of `mine`
  if (core.is_paired(rank)) {
    mine = scratch(schedule.add_scratch(0, p), p);
    schedule.recv_reduce(mine, input(0, p), rank - 1, Side::left).end_round();
  }

  const int me = core.core_of(rank);
  for (int distance = core.size() / 2; distance > 0; distance /= 2) {
    const int partner = me ^ distance;
    const auto first_of_half_with = [&](int number) { return core.lowest_of(number - number % distance); };
    const auto half_with = [&](int number) {
      const int begin = first_of_half_with(number);
      const int end = first_of_half_with(number + distance);
      return Slice{mine.buffer, mine.first + begin - first, end - begin};
    };
    const Slice kept = half_with(me);
    const Slice given = half_with(partner);
    first = first_of_half_with(me);
    mine = kept.buffer == Buffer::input ? scratch(schedule.add_scratch(first, kept.count), kept.count) : kept;
    schedule.send(given, core.rank_of(partner));
    schedule.recv_reduce(mine, kept, core.rank_of(partner), partner < me ? Side::left : Side::right);
    schedule.end_round();
  }

  if (core.is_paired(rank)) schedule.send(scratch(mine.first), rank - 1);
  return schedule.copy(output(rank), scratch(mine.first + rank - first)).end_round();
}

}  // namespace stretto::reduce_scatter
