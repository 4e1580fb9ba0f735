// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "schedule/schedule.hpp"

namespace stretto::bcast {

/// Appends a binomial scatter, the first half of two algorithms. Numbers 0 (the root), 1, … stand for
/// `ranks`, and block i belongs to number i. A rank receives the blocks of its subtree, a run that starts
/// with its own, and sends half of what it has in each round. ⌈log2⌉ rounds, in which the root sends all
/// blocks but one.
void scatter(Schedule& schedule, std::span<const int> ranks, int me);

/// Returns the number of blocks that a rank then has, from its own on.
int blocks_from_scatter(int ranks, int number);

}  // namespace stretto::bcast
