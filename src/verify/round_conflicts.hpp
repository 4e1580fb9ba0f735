// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "verify/verify.hpp"

namespace stretto {

/// Checks the schedule of one rank by itself: slices and peers must exist; no action may read or write a
/// block that another action of its round writes; the operands of an action must be its result or not
/// overlap it. Returns one line that says what is wrong; empty if nothing is.
std::string find_round_conflict(const Schedule& schedule, const Problem& problem);

}  // namespace stretto
