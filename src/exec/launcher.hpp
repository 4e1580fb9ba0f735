// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

namespace stretto {

/// Returns the variables that make mpi4py's wheel, which supports several MPI libraries, use the library of
/// the launcher above this process; with another one, each rank may be a job of its own. `stretto run` does
/// the same (python/stretto/launch/run.py). Returns none if the user's own variables choose a library, or if
/// the launcher is not known: PMI_SIZE from Slurm may be for any library.
std::map<std::string, std::string> mpi4py_variables();

}  // namespace stretto
