// SPDX-License-Identifier: Apache-2.0
// The barrier algorithms. Each is described at the top of its own file; table.cpp lists them. A message is
// one byte without meaning. It tells its receiver of the arrival of all ranks of which its sender knew.
#pragma once

#include <span>

#include "algorithms/registry.hpp"

namespace stretto::barrier {

std::span<const Algorithm> table();

Schedule dissemination(const Task& task, int rank);
Schedule smp(const Task& task, int rank);

/// Appends a dissemination with radix r among `count` ranks, of which this rank is number `me`. Number i is
/// rank `ranks[i]`, or rank i if `ranks` is empty.
void append_dissemination(Schedule& schedule, int count, std::span<const int> ranks, int me, int radix);

}  // namespace stretto::barrier
