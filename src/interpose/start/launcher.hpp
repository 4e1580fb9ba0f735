// SPDX-License-Identifier: Apache-2.0
// What the launcher of this process says of the job, by its environment.
#pragma once

#include <optional>
#include <string>

namespace stretto {

/// The rank that a launcher gave this process, for a line that must be written before MPI can be asked.
bool may_be_rank_0();

/// One line where the launcher started more ranks than MPI_COMM_WORLD has, as that of one MPI library does
/// with a program of another: each rank is then a job of its own. An empty one on all but one of them, and
/// nothing where all is well. `ranks`: of MPI_COMM_WORLD; 0: not known.
std::optional<std::string> find_other_launcher(int ranks);

/// The ranks of MPI_COMM_WORLD where the process uses a library of the other binary interface; 0: not known.
int ranks_of_other_library();

}  // namespace stretto
