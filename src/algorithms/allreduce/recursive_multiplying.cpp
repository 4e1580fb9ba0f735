// SPDX-License-Identifier: Apache-2.0
// Recursive multiplying: recursive doubling with groups of up to k ranks in place of pairs. In each round
// the ranks of a group exchange all that they hold and reduce it; the distance between them grows by the
// size of the group.
//
// If all prime factors of p are at most k, the sizes of the groups are factors of p (each the largest divisor
// up to k of the remaining quotient), so no rank idles: ceil(log_k p) rounds for a power of k. Otherwise the
// largest core f k^i (f < k) takes part. Each of the p - core extra ranks first sends its message to a
// neighbour and receives the result at the end, as in recursive doubling: two more rounds. A round with
// groups of f costs a rank f-1 messages of the whole size. So there are fewer rounds with more messages at
// once, which pays as long as a network adapter sends several messages in little more time than one.
//
// Groups are neighbouring runs of ranks, and all of their ranks combine them in the same way (by a tree). So
// rank order is kept, and all ranks get the same bits. If the core is a power of two, the result is that of
// the fixed tree.
//
// Source: Ruefenacht, Bull, Booth 2016/2017, "Generalisation of Recursive Doubling for AllReduce: Now with
// Simulation".
#include <algorithm>
#include <bit>
#include <vector>

#include "algorithms/allreduce/allreduce.hpp"
#include "algorithms/allreduce/among_core.hpp"
#include "algorithms/allreduce/reduce_in_fixed_tree.hpp"

namespace stretto::allreduce {
namespace {

/// The sizes of the groups. Their product is the size of the core.
struct GroupSizes {
  int product = 1;
  std::vector<int> sizes;

  void add(int size) {
    sizes.push_back(size);
    product *= size;
  }
};

GroupSizes sizes_of_groups(int p, int radix) {
  GroupSizes factors;
  for (int left = p; left > 1; left /= factors.sizes.back()) {
    int divisor = std::min(radix, left);
    while (left % divisor != 0) --divisor;
    if (divisor == 1) break;
    factors.add(divisor);
  }
  if (factors.product == p) return factors;

  GroupSizes digits;
  while (digits.product <= p / radix) digits.add(radix);
  const int first_digit = p / digits.product;
  if (first_digit > 1) digits.add(first_digit);
  return digits;
}

}  // namespace

Schedule recursive_multiplying(const Task& task, int rank) {
  const int p = task.ranks();
  const GroupSizes groups = sizes_of_groups(p, task.radix);
  const Core core(p, groups.product);
  return among_core(core, p, rank, 1, [&](Schedule& schedule, Buffer start) {
    Slice mine{start, 0, 1};
    const int me = core.core_of(rank);
    int distance = 1;
    for (const int size : groups.sizes) {
      const int place = me / distance % size;
      std::vector<Slice> runs;
      runs.reserve(static_cast<std::size_t>(size));
      for (int i = 0; i < size; ++i) {
        runs.push_back(i == place ? mine : scratch(i < place ? i : i - 1));
      }
      while (static_cast<int>(schedule.scratch_shape().size()) < size - 1) schedule.add_scratch(0);
      // Each rank begins with the rank after itself, so that not all send to the same one at once.
      for (int ahead = 1; ahead < size; ++ahead) {
        const auto rank_at = [&](int i) { return core.rank_of(me + (i - place) * distance); };
        const int behind = (place + size - ahead) % size;
        schedule.send(mine, rank_at((place + ahead) % size));
        schedule.recv(runs[static_cast<std::size_t>(behind)], rank_at(behind));
      }
      schedule.end_round();
      reduce_in_fixed_tree(schedule, runs, output(0));
      mine = output(0);
      distance *= size;
    }
  });
}

bool recursive_multiplying_has_fixed_tree(const Task& task) {
  return std::has_single_bit(static_cast<unsigned>(sizes_of_groups(task.ranks(), task.radix).product));
}

}  // namespace stretto::allreduce
