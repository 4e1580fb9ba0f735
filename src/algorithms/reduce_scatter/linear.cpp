// SPDX-License-Identifier: Apache-2.0
// Linear: everything is reduced to rank 0 along a binomial tree, and rank 0 sends every rank its block, all
// at once. ⌈log2 p⌉ rounds of the whole message, and one round in which one rank sends p-1 blocks. It suits
// blocks so tiny that only the number of steps counts. The binomial tree computes the fixed tree, in rank
// order.
#include <array>

#include "algorithms/reduce/reduce.hpp"
#include "algorithms/reduce_scatter/reduce_scatter.hpp"

namespace stretto::reduce_scatter {

Schedule linear(const Task& task, int rank) {
  constexpr int root = 0;
  const int p = task.ranks();
  Schedule schedule(p, rank, p);
  const std::array<int, 2> whole_message{0, p};
  const int reduced = rank == root ? schedule.add_scratch(0, p) : 0;
  schedule.append(reduce::binomial({.topology = task.topology, .root = root}, rank),
                  {.output = Buffer::scratch, .output_scratch = reduced, .borders = whole_message});

  if (rank != root) return schedule.recv(output(rank), root).end_round();
  for (int other = 1; other < p; ++other) schedule.send(scratch(reduced + other), other);
  return schedule.copy(output(root), scratch(reduced + root)).end_round();
}

}  // namespace stretto::reduce_scatter
