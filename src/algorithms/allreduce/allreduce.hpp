// SPDX-License-Identifier: Apache-2.0
// The allreduce algorithms. Each is described at the top of its own file; table.cpp lists them.
#pragma once

#include <span>
#include <string_view>

#include "algorithms/registry.hpp"

namespace stretto::allreduce {

std::span<const Algorithm> table();

Schedule ring(const Task& task, int rank);
Schedule recursive_doubling(const Task& task, int rank);
Schedule rabenseifner(const Task& task, int rank);
Schedule circulant(const Task& task, int rank);
Schedule pairwise(const Task& task, int rank);
Schedule two_shot(const Task& task, int rank);
Schedule knomial(const Task& task, int rank);
Schedule recursive_multiplying(const Task& task, int rank);
Schedule gather_scatter(const Task& task, int rank);
Schedule shumilin_ring(const Task& task, int rank);
Schedule swing(const Task& task, int rank);
Schedule segmented_ring(const Task& task, int rank);
Schedule reduce_broadcast(const Task& task, int rank);
Schedule nap(const Task& task, int rank);
Schedule multilane(const Task& task, int rank);
Schedule smp(const Task& task, int rank);
Schedule weighted(const Task& task, int rank);
Schedule cache_leaders(const Task& task, int rank);
Schedule cache_lanes(const Task& task, int rank);

// Predicates that belong to one algorithm.
bool knomial_has_fixed_tree(const Task& task);
bool recursive_multiplying_has_fixed_tree(const Task& task);
bool swing_keeps_order(const Task& task);
std::string_view weighted_unsupported(const Task& task);
Schedule pre_reduced_ring(const Task& task, int rank);
bool pre_reduced_ring_keeps_order(const Task& task);
// Predicates of cache_leaders and cache_lanes.
bool by_cache_keeps_order(const Task& task);
bool by_cache_has_fixed_tree(const Task& task);
std::string_view cache_leaders_unsupported(const Task& task);
std::string_view cache_lanes_unsupported(const Task& task);

}  // namespace stretto::allreduce
