// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>
#include <vector>

#include "algorithms/fixed_tree.hpp"
#include "schedule/schedule.hpp"

namespace stretto {

/// Appends the reduction of `values`, in rank order, by the fixed tree. One value is this rank's own; the
/// others lie in scratch, which is overwritten. The result ends in `result`, which may be the rank's own
/// value.
inline void reduce_in_fixed_tree(Schedule& schedule, std::vector<Slice> values, const Slice& result) {
  fixed_tree(std::move(values), [&](const Slice& left, const Slice& right) {
    const bool has_own = left.buffer != Buffer::scratch || right.buffer != Buffer::scratch;
    const Slice into = has_own ? result : left;
    schedule.reduce(into, left, right).end_round();
    return into;
  });
}

}  // namespace stretto
