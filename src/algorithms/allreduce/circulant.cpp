// SPDX-License-Identifier: Apache-2.0
// A reduce-scatter by a circulant graph (algorithms/circulant.hpp), then Bruck's allgather. 2 ⌈log2 p⌉ rounds
// and 2(p-1)/p of the message, the fewest possible for any p. `rabenseifner` takes as few only if p is a
// power of two.
#include "algorithms/circulant.hpp"

#include "algorithms/allgather/allgather.hpp"
#include "algorithms/allreduce/allreduce.hpp"

namespace stretto::allreduce {

Schedule circulant(const Task& task, int rank) {
  const int p = task.ranks();
  Schedule schedule(p, rank, p);
  append_circulant_reduce_scatter(schedule, output(0, p));
  return schedule.append(allgather::bruck(task, rank), {.input = Buffer::output});
}

}  // namespace stretto::allreduce
