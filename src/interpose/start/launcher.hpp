// SPDX-License-Identifier: Apache-2.0
// Reads what the launcher of this process says about the job in its environment.
#pragma once

#include <optional>
#include <string>

namespace stretto {

/// Whether this is rank 0 according to the launcher. It is for lines that must be written before MPI can be
/// asked.
bool may_be_rank_0();

/// Whether the launcher of an MPI library, or srun, started this process or one above it.
bool has_launcher();

/// Returns one line if the launcher started more ranks than MPI_COMM_WORLD has. This happens if the
/// launcher belongs to another MPI library than the program: each rank is then a job of its own. The line is
/// empty on all ranks but one. Returns nothing if all is well. `ranks` is the number of ranks of
/// MPI_COMM_WORLD.
std::optional<std::string> find_other_launcher(int ranks);

}  // namespace stretto
