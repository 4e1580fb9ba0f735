// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "mpi/mpi.hpp"
#include "schedule/partition.hpp"

namespace stretto {

/// Returns where the data of one element are: runs of bytes from its true lower bound on, in order. What is
/// between them is not the call's. Another call, or the program, may write there while the call is under way,
/// so a copy of it that goes back would undo that.
std::vector<Range> runs_of_element(MPI_Datatype datatype);

/// Adds the runs of `count` elements. `first`: where the true lower bound of the first one is.
void add_runs(std::vector<Range>& runs, std::span<const Range> of_one, std::ptrdiff_t first,
              std::size_t count, std::ptrdiff_t extent);

}  // namespace stretto
