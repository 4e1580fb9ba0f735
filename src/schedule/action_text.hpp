// SPDX-License-Identifier: Apache-2.0
// Slices and actions in the notation of `stretto show`, for messages.
#pragma once

#include <string>

#include "schedule/schedule.hpp"

namespace stretto {

/// `in3` of the input, `b3` or `b4-7` of the output, `s0` of scratch memory; `s1-2,5-6,…(8)` is strided and
/// has 8 blocks.
std::string to_string(const Slice& slice);

/// `send b1→3`, `recv b0-1←5`, `recv_reduce b1=in1+recv←5`, `copy b1=in1`, `reduce b1=in1+s0`.
std::string to_string(const Action& action);

}  // namespace stretto
