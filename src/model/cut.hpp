// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "algorithms/collective.hpp"
#include "model/plan.hpp"
#include "model/walker.hpp"
#include "schedule/partition.hpp"

namespace stretto {

/// The elements of blocks in each segment, as engine/execution/schedule_execution.cpp divides them.
class Cut {
 public:
  Cut(const Plan& plan, const WalkedCall& call) : Cut(plan.blocks(), call) {}
  Cut(int blocks, const WalkedCall& call)
      : elements_(call.elements()),
        blocks_(static_cast<std::size_t>(blocks)),
        of_ranks_(has_block_of_each_rank(call.collective)),
        segments_(call.segments()) {}

  [[nodiscard]] std::size_t segments() const { return segments_; }

  [[nodiscard]] std::size_t elements(const Plan::Run& run, std::size_t segment) const {
    const auto first = static_cast<std::size_t>(run.first);
    const auto count = static_cast<std::size_t>(run.count);
    if (!of_ranks_) {
      return Partition(Partition(elements_, segments_).run(segment).count, blocks_).run(first, count).count;
    }
    const Range blocks = Partition(elements_, blocks_).run(first, count);
    return Partition(blocks.count, segments_).run(segment).count;
  }

 private:
  std::size_t elements_;
  std::size_t blocks_;
  bool of_ranks_;
  std::size_t segments_;
};

}  // namespace stretto
