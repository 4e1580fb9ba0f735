// SPDX-License-Identifier: Apache-2.0
// The reduce_scatter algorithms. Each is described at the top of its own file; table.cpp lists them.
#pragma once

#include <span>

#include "algorithms/registry.hpp"

namespace stretto::reduce_scatter {

std::span<const Algorithm> table();

Schedule ring(const Task& task, int rank);
Schedule circulant(const Task& task, int rank);
Schedule pairwise(const Task& task, int rank);
Schedule direct(const Task& task, int rank);
Schedule recursive_halving(const Task& task, int rank);
Schedule multilane(const Task& task, int rank);

}  // namespace stretto::reduce_scatter
