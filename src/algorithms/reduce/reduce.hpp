// SPDX-License-Identifier: Apache-2.0
// The reduce algorithms. Each is described at the top of its own file; table.cpp lists them.
#pragma once

#include <span>

#include "algorithms/registry.hpp"

namespace stretto::reduce {

std::span<const Algorithm> table();

Schedule binomial(const Task& task, int rank);
Schedule knomial(const Task& task, int rank);
Schedule linear(const Task& task, int rank);
Schedule chain(const Task& task, int rank);
Schedule circulant(const Task& task, int rank);
Schedule rabenseifner(const Task& task, int rank);

bool chain_keeps_order(const Task& task);
bool circulant_keeps_order(const Task& task);

Schedule smp(const Task& task, int rank);

}  // namespace stretto::reduce
