// SPDX-License-Identifier: Apache-2.0
// The algorithms of gather and gatherv. Each is described at the top of its own file; table.cpp lists them.
#pragma once

#include <span>

#include "algorithms/registry.hpp"

namespace stretto::gather {

std::span<const Algorithm> table();

Schedule linear(const Task& task, int rank);
Schedule binomial(const Task& task, int rank);
Schedule smp(const Task& task, int rank);

}  // namespace stretto::gather
