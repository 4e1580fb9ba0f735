// SPDX-License-Identifier: Apache-2.0
// The circulant broadcast backwards: each block is reduced along its tree (algorithms/circulant_trees.hpp),
// from the leaves to the root. 2 ⌈log2 p⌉ rounds, for any p, and no rank receives the message more than once.
// With many segments it suits large messages on many ranks.
//
// Contributions are added in the order of the trees. That is rank order for two ranks, and for three unless
// the root is between the others. Source: that of the trees.
#include <algorithm>
#include <cstddef>
#include <vector>

#include "algorithms/circulant_trees.hpp"
#include "algorithms/reduce/reduce.hpp"

namespace stretto::reduce {

Schedule circulant(const Task& task, int rank) {
  const int p = task.ranks();
  Schedule schedule(p, rank, circulant_trees(p));
  const auto rank_of = [&](int number) { return (number + task.root) % p; };
  std::vector<Slice> sums;  // [block]
  sums.reserve(static_cast<std::size_t>(schedule.blocks()));
  for (int block = 0; block < schedule.blocks(); ++block) sums.push_back(input(block));

  std::vector<TreeStep> steps = circulant_steps(p, (rank - task.root + p) % p);
  std::ranges::reverse(steps);
  for (const TreeStep& step : steps) {
    if (step.received >= 0) schedule.send(sums[static_cast<std::size_t>(step.received)], rank_of(step.from));
    if (step.sent >= 0) {
      Slice& sum = sums[static_cast<std::size_t>(step.sent)];
      const Slice before = sum;
      if (before == input(step.sent)) {
        sum = rank == task.root ? output(step.sent) : scratch(schedule.add_scratch(step.sent));
      }
      const int child = rank_of(step.to);
      schedule.recv_reduce(sum, before, child, child < rank ? Side::left : Side::right);
    }
    schedule.end_round();
  }
  return schedule;
}

bool circulant_keeps_order(const Task& task) {
  return task.ranks() <= 2 || (task.ranks() == 3 && task.root != 1);
}

}  // namespace stretto::reduce
