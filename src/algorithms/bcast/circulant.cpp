// SPDX-License-Identifier: Apache-2.0
// Circulant: ⌈log2 p⌉ blocks, each along a tree of its own (algorithms/circulant_trees.hpp). 2 ⌈log2 p⌉
// rounds, for any p, and no rank sends the message more than once. A chain sends as little, in p-1 rounds.
// With many segments it suits large messages on many ranks. The trees are not node-aware: where nodes have
// several ranks, this algorithm is a part of smp.
#include <algorithm>

#include "algorithms/bcast/bcast.hpp"
#include "algorithms/circulant_trees.hpp"

namespace stretto::bcast {

Schedule circulant(const Task& task, int rank) {
  const int p = task.ranks();
  Schedule schedule(p, rank, std::max(circulant_trees(p), 1));
  const auto rank_of = [&](int number) { return (number + task.root) % p; };
  for (const TreeStep& step : circulant_steps(p, (rank - task.root + p) % p)) {
    if (step.sent >= 0) schedule.send(output(step.sent), rank_of(step.to));
    if (step.received >= 0) schedule.recv(output(step.received), rank_of(step.from));
    schedule.end_round();
  }
  return schedule;
}

}  // namespace stretto::bcast
