// SPDX-License-Identifier: Apache-2.0
// Neighbor exchange (Chen, Zhang, Zhang and Yuan 2005): ranks communicate only with their two neighbours.
// They first swap blocks within pairs (0 and 1, 2 and 3, …). Then they swap the two blocks that came last,
// alternately with the neighbour in the next pair and with the one in their own. ⌈p/2⌉ rounds, half as many
// as a ring, with as few bytes, and every message is one run.
//
// After the first swap, the lower rank of pair q receives the pairs q-1, q+1, q-2, q+2, …, and the upper one
// q+1, q-1, q+2, q-2, …. If p is odd, the last rank is a pair by itself and plays both parts: it swaps with
// both neighbours when pairs meet, and idles when the ranks of a pair meet. (This addition is ours; Chen et
// al. use another algorithm then.)
#include "algorithms/allgather/allgather.hpp"

namespace stretto::allgather {

Schedule neighbor_exchange(const Task& task, int rank) {
  const int p = task.ranks();
  const int pairs = (p + 1) / 2;
  const int mine = rank / 2;
  const bool is_lower = rank % 2 == 0;
  const bool is_upper = rank % 2 == 1 || rank == p - 1;
  const auto pair = [&](int number) {
    const int first = (number + 2 * pairs) % pairs * 2;
    return output(first, first == p - 1 ? 1 : 2);
  };

  Schedule schedule(p, rank, p);
  schedule.copy(output(rank), input(rank)).end_round();
  const auto beside = is_lower ? rank + 1 : rank - 1;
  const bool is_alone = is_lower && is_upper;
  if (!is_alone) schedule.send(output(rank), beside).recv(output(beside), beside).end_round();

  for (int round = 1; round < pairs; ++round) {
    const int away = (round + 1) / 2;
    if (round % 2 == 1) {
      // The opposite pair would reach the single rank from both sides.
      const bool is_there_already = p % 2 == 1 && 2 * away == pairs;
      if (is_lower) {
        const int peer = (rank + p - 1) % p;
        if (!(is_there_already && rank == 0)) schedule.send(pair(mine + away - 1), peer);
        schedule.recv(pair(mine - away), peer);
      }
      if (is_upper) {
        const int peer = (rank + 1) % p;
        schedule.send(pair(mine - away + 1), peer);
        if (!(is_there_already && rank == p - 1)) schedule.recv(pair(mine + away), peer);
      }
    } else if (!is_alone) {
      const int sign = is_lower ? 1 : -1;
      schedule.send(pair(mine - sign * away), beside).recv(pair(mine + sign * away), beside);
    }
    schedule.end_round();
  }
  return schedule;
}

}  // namespace stretto::allgather
