// SPDX-License-Identifier: Apache-2.0
// Finds the specs that should be fastest for the calls of a group by the model, in a job without MPI.
//
// In such a job, there is no call in which all ranks wait: a framework may wait for a call at once on one
// rank and later on another. So no call lets the ranks agree on what they have learned
// (interpose/dispatch/online.hpp). But all ranks wait for each other when a group is made.
#pragma once

#include "interpose/communicators/communicator.hpp"

namespace stretto {

/// Lets rank 0 find the fastest spec for each collective and length by the model of this network, and send
/// the specs to the others. Measures the network first if that has not been done. Collective over `comm`;
/// waits for all of its ranks. Does nothing on one node, because the rule was measured there.
void model_calls(Communicator& state, MPI_Comm comm);
/// To be called when a job begins.
void forget_modelled_network();

}  // namespace stretto
