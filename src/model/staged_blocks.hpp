// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "algorithms/registry.hpp"
#include "model/plan.hpp"
#include "schedule/schedule.hpp"
#include "topology/topology.hpp"

namespace stretto {

/// The blocks that one rank copies in each segment of a call whose buffers are in device memory.
struct StagedRank {
  /// Some blocks, in runs as long as they are consecutive.
  struct Part {
    std::uint32_t round = 0;  // of the rank
    std::vector<Plan::Run> runs;
  };
  std::vector<Part> fetched;   // before its round begins, in the order of rounds
  std::vector<Part> put_back;  // when its round has ended, likewise

  /// `parts` is as for TouchedBlocks::find(). A call is taken to be out of place where MPI allows that: only
  /// a broadcast is in place.
  StagedRank(const Schedule& schedule, Collective collective, std::size_t parts);
};

/// The blocks that all ranks copy, for all message sizes that have the same number of parts.
class StagedBlocks {
 public:
  /// `schedule(rank)` is called once for each rank.
  StagedBlocks(const Topology& topology, const std::function<Schedule(int)>& schedule, Collective collective,
               std::size_t parts);
  StagedBlocks(const Recipe& recipe, const Topology& topology, int root, std::size_t parts);

  [[nodiscard]] std::size_t parts() const { return parts_; }
  [[nodiscard]] const StagedRank& operator[](int rank) const {
    return ranks_[static_cast<std::size_t>(rank)];
  }

 private:
  std::size_t parts_;
  std::vector<StagedRank> ranks_;
};

}  // namespace stretto
