// SPDX-License-Identifier: Apache-2.0
// Reduce, then broadcast (R+B of the CNN-training paper, section 4.2; LIN and BIN in the papers' tables have
// linear and binomial parts): a reduce to rank 0 by one algorithm, then a broadcast from it by another.
// Rounds and bytes are the sum of both: 2 ceil(log2 p) rounds of the whole message with binomial trees. Rank
// order and the fixed tree are those of the reduce.
//
// The parts may cut the message differently. The part with more blocks keeps its cut, and each block of the
// other part is a run of those. If the numbers of blocks do not divide, blocks are first cut in eight, so
// that the runs differ little in length.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "algorithms/allreduce/allreduce.hpp"

namespace stretto::allreduce {
namespace {

int common_blocks(int a, int b) {
  const auto [fewer, more] = std::minmax(a, b);
  return more % fewer == 0 ? more : 8 * more;
}

void append(Schedule& schedule, const Schedule& part) {
  std::vector<int> borders;
  for (std::int64_t i = 0; i <= part.blocks(); ++i) {
    borders.push_back(static_cast<int>(i * schedule.blocks() / part.blocks()));
  }
  schedule.append(part, {.borders = borders});
}

}  // namespace

Schedule reduce_broadcast(const Task& task, int rank) {
  constexpr int root = 0;
  const Schedule up = build(task.parts[0], task.topology, root, rank);
  const Schedule down = build(task.parts[1], task.topology, root, rank);
  Schedule schedule(task.ranks(), rank, common_blocks(up.blocks(), down.blocks()));
  append(schedule, up);
  append(schedule, down);
  return schedule;
}

}  // namespace stretto::allreduce
