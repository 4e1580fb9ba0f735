// SPDX-License-Identifier: Apache-2.0
// What the model expects of the calls of a group, in a job without MPI.
//
// There, no call is one in which all ranks wait, so none lets them agree on what was learnt since
// (interpose/dispatch/online.hpp): a framework's call may be waited for at once on one rank and later on
// another. But all ranks wait for each other when a group is made.
#pragma once

#include "interpose/communicators/communicator.hpp"

namespace stretto {

/// Lets rank 0 find the fastest spec for each collective and length by the model of this network, which is
/// measured if nothing is known of it, and tells the others. Collective over `comm`; waits for all of its
/// ranks. Does nothing on one node, where the rule was measured.
void model_calls(Communicator& state, MPI_Comm comm);
/// To be called when a job begins.
void forget_modelled_network();

}  // namespace stretto
