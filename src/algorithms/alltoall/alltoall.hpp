// SPDX-License-Identifier: Apache-2.0
// The algorithms of alltoall and alltoallv. Each is described at the top of its own file; table.cpp lists
// them.
#pragma once

#include <span>

#include "algorithms/registry.hpp"

namespace stretto::alltoall {

std::span<const Algorithm> table();

Schedule linear(const Task& task, int rank);
Schedule pairwise(const Task& task, int rank);
Schedule bruck(const Task& task, int rank);
Schedule smp(const Task& task, int rank);
Schedule multileader(const Task& task, int rank);
Schedule multilane(const Task& task, int rank);

/// Adds `count` scratch blocks of the one length that all blocks of an alltoall have; returns the number of
/// the first.
int add_blocks(Schedule& schedule, int count);

}  // namespace stretto::alltoall
