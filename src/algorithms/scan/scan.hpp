// SPDX-License-Identifier: Apache-2.0
// The algorithms of scan and exscan. Each is described at the top of its own file; table.cpp lists them. All
// keep rank order.
#pragma once

#include <span>

#include "algorithms/registry.hpp"

namespace stretto::scan {

std::span<const Algorithm> table();

Schedule recursive_doubling(const Task& task, int rank);
Schedule recursive_doubling_exclusive(const Task& task, int rank);
Schedule chain(const Task& task, int rank);
Schedule chain_exclusive(const Task& task, int rank);

}  // namespace stretto::scan
