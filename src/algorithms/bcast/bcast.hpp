// SPDX-License-Identifier: Apache-2.0
// The bcast algorithms. Each is described at the top of its own file; table.cpp lists them.
#pragma once

#include <span>

#include "algorithms/registry.hpp"

namespace stretto::bcast {

std::span<const Algorithm> table();

Schedule binomial(const Task& task, int rank);
Schedule knomial(const Task& task, int rank);
Schedule linear(const Task& task, int rank);
Schedule chain(const Task& task, int rank);
Schedule circulant(const Task& task, int rank);
Schedule scatter_allgather(const Task& task, int rank);
Schedule scatter_recursive_doubling(const Task& task, int rank);
Schedule smp(const Task& task, int rank);

}  // namespace stretto::bcast
