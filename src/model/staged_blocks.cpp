// SPDX-License-Identifier: Apache-2.0
#include "model/staged_blocks.hpp"

#include "schedule/touched_blocks.hpp"

namespace stretto {
namespace {

std::vector<StagedRank::Part> in_runs(const std::vector<TouchedBlocks::Part>& parts) {
  std::vector<StagedRank::Part> result;
  for (const TouchedBlocks::Part& part : parts) {
    StagedRank::Part& added = result.emplace_back();
    added.round = static_cast<std::uint32_t>(part.round);
    for (const int block : part.blocks) {
      if (!added.runs.empty() && added.runs.back().first + added.runs.back().count == block) {
        ++added.runs.back().count;
      } else {
        added.runs.push_back({block, 1});
      }
    }
  }
  return result;
}

}  // namespace

StagedRank::StagedRank(const Schedule& schedule, Collective collective, std::size_t parts) {
  const TouchedBlocks touched = TouchedBlocks::find(schedule, collective == Collective::bcast, parts);
  fetched = in_runs(touched.reads);
  put_back = in_runs(touched.writes);
}

StagedBlocks::StagedBlocks(const Topology& topology, const std::function<Schedule(int)>& schedule,
                           Collective collective, std::size_t parts)
    : parts_(parts) {
  ranks_.reserve(static_cast<std::size_t>(topology.ranks()));
  for (int rank = 0; rank < topology.ranks(); ++rank) ranks_.emplace_back(schedule(rank), collective, parts);
}

StagedBlocks::StagedBlocks(const Recipe& recipe, const Topology& topology, int root, std::size_t parts)
    : StagedBlocks(
          topology, [&](int rank) { return build(recipe, topology, root, rank); },
          recipe.algorithm->collective, parts) {}

}  // namespace stretto
