// SPDX-License-Identifier: Apache-2.0
// Pairwise: in round i a rank sends to the rank i places ahead and receives from the one i places behind, or
// exchanges blocks with rank XOR i if p is a power of two. Least bytes, p-1 rounds, and in each round no rank
// gets more than one message.
#include <bit>

#include "algorithms/alltoall/alltoall.hpp"

namespace stretto::alltoall {

Schedule pairwise(const Task& task, int rank) {
  const int p = task.ranks();
  const bool power_of_two = std::has_single_bit(static_cast<unsigned>(p));
  Schedule schedule(p, rank, p);
  schedule.copy(output(rank), input(rank));
  for (int shift = 1; shift < p; ++shift) {
    const int to = power_of_two ? (rank ^ shift) : (rank + shift) % p;
    const int from = power_of_two ? to : (rank + p - shift) % p;
    schedule.recv(output(from), from).send(input(to), to).end_round();
  }
  return schedule.end_round();
}

}  // namespace stretto::alltoall
