// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "mpi/mpi.hpp"
#include "schedule/partition.hpp"

namespace stretto {

/// Returns the runs of bytes that hold the data of one element, from its true lower bound on, in order. The
/// bytes between them do not belong to the call. Another call, or the program, may write there while the call
/// is under way, and a copy of these bytes that goes back would undo that.
std::vector<Range> runs_of_element(MPI_Datatype datatype);

/// Adds the runs of `count` elements. `first` is the place of the first element's true lower bound.
void add_runs(std::vector<Range>& runs, std::span<const Range> of_one, std::ptrdiff_t first,
              std::size_t count, std::ptrdiff_t extent);

}  // namespace stretto
