// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "schedule/schedule.hpp"

namespace stretto::bcast {

/// Binomial scatter, the first half of two algorithms: numbers 0 (the root), 1, … stand for `ranks`, and
/// block i belongs to number i. A rank receives the blocks of all numbers that it serves, a run that starts
/// with its own, and hands on half of what it has a round. ⌈log2⌉ rounds, in which the root sends all blocks
/// but one.
void scatter(Schedule& schedule, std::span<const int> ranks, int me);

/// Blocks that a number has then: those from its own on.
int blocks_from_scatter(int ranks, int number);

}  // namespace stretto::bcast
