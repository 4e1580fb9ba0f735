// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "mpi/mpi.hpp"

namespace stretto {

/// Lets the MPI library advance all that it has in flight, for a thread that waits without calling MPI.
/// `comm` is Stretto's own. Thread-safe.
///
/// The function tests a receive that is never matched. (MPI_Iprobe of MPICH advances messages, but not the
/// library's non-blocking collectives.)
void drive_library(MPI_Comm comm);

/// Withdraws that receive. To be called before `comm` is freed.
void stop_driving_library();

}  // namespace stretto
