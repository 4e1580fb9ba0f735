// SPDX-License-Identifier: Apache-2.0
// Recursive doubling (Thakur, Rabenseifner and Gropp 2005): in round i, ranks at distance 2^i exchange all
// that they hold. log2(p) rounds; if p is a power of two, as few bytes as a ring. For any other p, the extra
// ranks first send their block to a neighbour and receive the whole result at the end: two more rounds, and
// the bytes of the message once more.
//
// A rank always holds a run of blocks: neighbouring runs merge, and the distance grows.
#include "algorithms/allgather/allgather.hpp"
#include "algorithms/core.hpp"

namespace stretto::allgather {

Schedule recursive_doubling(const Task& task, int rank) {
  const int p = task.ranks();
  Schedule schedule(p, rank, p);
  const Core core(p);
  if (core.hands_over(rank)) {
    schedule.send(input(rank), rank + 1).end_round();
    return schedule.recv(output(0, p), rank + 1).end_round();
  }
  if (core.is_paired(rank)) schedule.recv(output(rank - 1), rank - 1);
  schedule.copy(output(rank), input(rank)).end_round();

  const int me = core.core_of(rank);
  for (int distance = 1; distance < core.size(); distance *= 2) {
    const auto held_by = [&](int number) {
      const int begin = number - number % distance;
      return output(core.lowest_of(begin), core.lowest_of(begin + distance) - core.lowest_of(begin));
    };
    const int partner = me ^ distance;
    schedule.send(held_by(me), core.rank_of(partner)).recv(held_by(partner), core.rank_of(partner));
    schedule.end_round();
  }

  if (core.is_paired(rank)) schedule.send(output(0, p), rank - 1).end_round();
  return schedule;
}

}  // namespace stretto::allgather
