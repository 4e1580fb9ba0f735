// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>
#include <vector>

#include "algorithms/fixed_tree.hpp"
#include "schedule/schedule.hpp"

namespace stretto::reduce_scatter {

/// Appends the reduction of the contributions to a rank's block, in rank order, by the fixed tree: its own in
/// the input, all others in scratch. In place, the output may lie anywhere in the input, so it is written
/// last.
inline void reduce_brought(Schedule& schedule, std::vector<Slice> brought) {
  const Slice result = fixed_tree(std::move(brought), [&](Slice left, Slice right) {
    const Slice into = left.buffer == Buffer::input ? right : left;
    schedule.reduce(into, left, right).end_round();
    return into;
  });
  schedule.copy(output(schedule.rank()), result).end_round();
}

}  // namespace stretto::reduce_scatter
