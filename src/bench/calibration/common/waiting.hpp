// SPDX-License-Identifier: Apache-2.0
// How ranks wait while messages are measured. More ranks than cores is the normal case, so none may spin.
#pragma once

#include <mpi.h>

#include <functional>
#include <span>
#include <vector>

namespace stretto::bench {

/// Waits as Stretto's engine does for its messages: a few looks, then the core is yielded after each.
void finish(std::span<MPI_Request> requests);

/// All ranks of the communicator come together at once, waiting in that way.
void line_up(MPI_Comm comm);

/// All ranks come together; each gets the largest of each value over all of them, so that all decide alike.
/// Who waits here waits for others that measure: it sleeps between looks, longer and longer, and takes no
/// core away from them. `on_progress` is called after each sleep.
std::vector<double> meet(std::vector<double> values, const std::function<void()>& on_progress = {});

}  // namespace stretto::bench
