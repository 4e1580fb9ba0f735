// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "verify/verify.hpp"

namespace stretto {

/// Looks at one rank's schedule by itself: slices and peers must exist, no action may read or write what
/// another of its round writes, and an action's operands coincide with its result or do not touch it. One
/// line that says what is wrong, or an empty one.
std::string find_round_conflict(const Schedule& schedule, const Problem& problem);

}  // namespace stretto
