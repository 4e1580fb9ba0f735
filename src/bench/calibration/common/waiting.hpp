// SPDX-License-Identifier: Apache-2.0
// How ranks wait while messages are measured. More ranks than cores is the normal case, so no rank may
// spin.
#pragma once

#include <functional>
#include <span>
#include <vector>
#include "mpi/mpi.hpp"

namespace stretto::bench {

/// Throws an error unless a call of MPI has succeeded.
void check(int code);

/// Waits as Stretto's engine does for its messages: polls a few times, then yields the core after each
/// poll.
void finish(std::span<MPI_Request> requests);
void finish(MPI_Request request);

/// A barrier of all ranks of the communicator that waits in that way.
void line_up(MPI_Comm comm);

/// A barrier of all ranks. Each gets the largest of each value over all of them, so that all decide alike.
/// Ranks that wait here wait for others that measure: they sleep between polls, longer and longer, and take
/// no core away from them. `on_progress` is called after each sleep.
std::vector<double> meet(std::vector<double> values, const std::function<void()>& on_progress = {});

}  // namespace stretto::bench
