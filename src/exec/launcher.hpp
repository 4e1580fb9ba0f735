// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

namespace stretto {

/// Returns the variables by which mpi4py's wheel, which serves several MPI libraries, takes that of the
/// launcher above this process: else each rank may be a job of its own. As `stretto run` has it
/// (python/stretto/launch/run.py). Empty if the user's own variables say which, or if the launcher is not
/// known: what Slurm tells by PMI_SIZE may be for any library.
std::map<std::string, std::string> mpi4py_variables();

}  // namespace stretto
