// SPDX-License-Identifier: Apache-2.0
// The allgather algorithms. Each is described at the top of its own file; table.cpp lists them.
#pragma once

#include <span>

#include "algorithms/registry.hpp"

namespace stretto::allgather {

std::span<const Algorithm> table();

Schedule linear(const Task& task, int rank);
Schedule ring(const Task& task, int rank);
Schedule recursive_doubling(const Task& task, int rank);
Schedule bruck(const Task& task, int rank);
Schedule neighbor_exchange(const Task& task, int rank);
Schedule multilane(const Task& task, int rank);

}  // namespace stretto::allgather
