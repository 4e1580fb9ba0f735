// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "learn/learner.hpp"
#include "select/rule.hpp"
#include "select/table.hpp"

namespace stretto {

/// What may be better than the standing choice for a blocking call of this shape, the least risky first:
/// the library itself, other segments, what the table says of other sizes and shapes, and what is known to be
/// good at all. Whether they fit is not looked at. `table` may be nullptr, and so may `own`, its shape for
/// the communicator.
std::vector<Candidate> near_best(const Spec& standing, const CallShape& shape, const Table* table,
                                 const Table::Shape* own);

}  // namespace stretto
