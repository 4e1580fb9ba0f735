// SPDX-License-Identifier: Apache-2.0
// Recursive multiplying: recursive doubling with groups of up to k ranks in place of pairs. In each round the
// ranks of a group exchange all that they hold and reduce; the distance between them grows by the size of the
// group.
//
// When all prime factors of p are at most k, the groups' sizes are factors of p (each the largest divisor up
// to k of what is left), so that no rank idles: ceil(log_k p) rounds for a power of k. Otherwise the largest
// core f k^i (f < k) takes part; of the p - core ranks that are too many each hands over to its neighbour
// first and gets the result at the end, as in recursive doubling: two more rounds. A round with groups of f
// costs a rank f-1 messages of the whole size: fewer rounds against more messages at once, which pays while a
// network adapter takes several for little more than one.
//
// Groups are neighbouring runs of ranks, combined alike (by a tree) on all of their ranks: rank order is
// kept, and all ranks get the same bits. Where the core is a power of two the result is that of the fixed
// tree.
//
// Source: Ruefenacht, Bull, Booth 2016/2017, "Generalisation of Recursive Doubling for AllReduce: Now with
// Simulation".
#include <algorithm>
#include <bit>
#include <vector>

#include "algorithms/allreduce/allreduce.hpp"
#include "algorithms/allreduce/reduce_in_fixed_tree.hpp"

namespace stretto::allreduce {
namespace {

struct Core {
  int size = 1;
  std::vector<int> groups;  // their sizes, whose product is `size`
};

Core core_of(int p, int radix) {
  Core core;
  for (int left = p; left > 1; left /= core.groups.back()) {
    int divisor = std::min(radix, left);
    while (left % divisor != 0) --divisor;
    if (divisor == 1) break;
    core.groups.push_back(divisor);
    core.size *= divisor;
  }
  if (core.size == p) return core;

  core = {};
  while (core.size <= p / radix) {
    core.groups.push_back(radix);
    core.size *= radix;
  }
  const int first_digit = p / core.size;
  if (first_digit > 1) core.groups.push_back(first_digit);
  core.size *= first_digit;
  return core;
}

}  // namespace

Schedule recursive_multiplying(const Task& task, int rank) {
  const int p = task.ranks();
  Schedule schedule(p, rank, 1);
  if (p == 1) return schedule.copy(output(0), input(0)).end_round();

  // The first ranks pair up as in PowerCore, so that the fixed tree is met where it can be.
  const Core core = core_of(p, task.radix);
  const int extra = p - core.size;
  const bool is_paired = rank < 2 * extra;
  const auto rank_of = [extra](int number) { return number < extra ? 2 * number + 1 : number + extra; };
  if (is_paired && rank % 2 == 0) {
    schedule.send(input(0), rank + 1).end_round();
    return schedule.recv(output(0), rank + 1).end_round();
  }
  Slice mine = input(0);
  if (is_paired) {
    schedule.recv_reduce(output(0), mine, rank - 1, Side::left).end_round();
    mine = output(0);
  }

  const int me = is_paired ? rank / 2 : rank - extra;
  int distance = 1;
  for (const int size : core.groups) {
    const int place = me / distance % size;
    std::vector<Slice> runs;
    for (int i = 0; i < size; ++i) {
      runs.push_back(i == place ? mine : scratch(i < place ? i : i - 1));
      if (i == place) continue;
      if (static_cast<int>(schedule.scratch_shape().size()) <= runs.back().first) schedule.add_scratch(0);
      const int partner = rank_of(me + (i - place) * distance);
      schedule.send(mine, partner).recv(runs.back(), partner);
    }
    schedule.end_round();
    reduce_in_fixed_tree(schedule, runs, output(0));
    mine = output(0);
    distance *= size;
  }

  if (is_paired) schedule.send(output(0), rank - 1).end_round();
  return schedule;
}

bool recursive_multiplying_has_fixed_tree(const Task& task) {
  return std::has_single_bit(static_cast<unsigned>(core_of(task.ranks(), task.radix).size));
}

}  // namespace stretto::allreduce
