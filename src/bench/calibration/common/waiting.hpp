// SPDX-License-Identifier: Apache-2.0
// How ranks wait while messages are measured. More ranks than cores is the normal case, so no rank may
// spin.
#pragma once

#include <functional>
#include <span>
#include <vector>
#include "mpi/mpi.hpp"

namespace stretto::bench {

/// Throws an error unless an MPI call has succeeded.
void check(int code);

/// Waits as Stretto's engine does for its messages: polls a few times, then yields the core after each
/// poll.
void finish(std::span<MPI_Request> requests);
void finish(MPI_Request request);

/// Waits in that way for all ranks of the communicator (a barrier).
void line_up(MPI_Comm comm);

/// Waits for all ranks (a barrier). Returns the largest of each value over all ranks, so that all decide
/// alike. Ranks wait here for others that measure, so they sleep between polls, longer and longer, and leave
/// the cores to those. `on_progress` is called after each sleep.
std::vector<double> meet(std::vector<double> values, const std::function<void()>& on_progress = {});

}  // namespace stretto::bench
