// SPDX-License-Identifier: Apache-2.0
// Circulant: the halvings of a circulant graph (algorithms/circulant.hpp), with the fewest rounds and bytes
// at once, for any p. The sums of all blocks are in scratch.
#include "algorithms/circulant.hpp"

#include "algorithms/reduce_scatter/reduce_scatter.hpp"

namespace stretto::reduce_scatter {

Schedule circulant(const Task& task, int rank) {
  const int p = task.ranks();
  Schedule schedule(p, rank, p);
  const Slice sums = scratch(schedule.add_scratch(0, p), p);
  append_circulant_reduce_scatter(schedule, sums);
  return schedule.copy(output(rank), scratch(sums.first + rank)).end_round();
}

}  // namespace stretto::reduce_scatter
