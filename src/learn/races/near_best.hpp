// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "learn/races/learner.hpp"
#include "select/rule.hpp"
#include "select/table.hpp"

namespace stretto {

/// The specs that may be faster than the standing choice for a blocking call of this shape, the least risky
/// first: the library itself, other segments, the table's rows for other sizes and shapes, and the
/// registry's short list. Whether they fit is not checked. `table` may be nullptr, and so may `own`, its
/// shape for the communicator.
std::vector<Candidate> near_best(const Spec& standing, const CallShape& shape, const Table* table,
                                 const Table::Shape* own);

}  // namespace stretto
