// SPDX-License-Identifier: Apache-2.0
// What jobs have found out about this network (learn/fabrics/fabric.hpp): read when a communicator first
// needs it, written at the end of the job.
#pragma once

#include <optional>
#include <string>

#include "interpose/communicators/communicator.hpp"
#include "interpose/session/call_traits.hpp"
#include "learn/fabrics/fabric.hpp"

namespace stretto {

/// Returns what is known for calls on this communicator, the same on all of its ranks. Collective over `comm`
/// at the first use: its rank 0 tells the others. To be called in a blocking call.
const Fabric& known_fabric(Communicator& state, const CallTraits& traits, const Spec& spec, MPI_Comm comm);

/// Returns what is known of the network between the ranks of this communicator; if nothing is, they measure
/// it. Empty, on all ranks alike, if they cannot. Collective like known_fabric().
const std::optional<MeasuredNetwork>& measured_network(Communicator& state, const CallTraits& traits,
                                                       const Spec& spec, MPI_Comm comm);

/// Gives all ranks of `comm` the text of its rank 0. Returns whether it has arrived.
bool send_from_rank_0(std::string& text, MPI_Comm comm);

CallKind kind_of(const CallTraits& traits, const Topology& topology, Form form);

/// Keeps a decision for communicators that are made later, and for the next job. To be called on rank 0 of a
/// communicator.
void note_decision(Decision decision);
/// The same for what was measured.
void note_measured(const MeasuredNetwork& measured);

/// The network has changed: what was measured of it before is forgotten.
void note_change();

/// On rank 0 of MPI_COMM_WORLD: writes what this job has decided. Returns one line with the reason if it
/// cannot, or an empty one.
std::string save_decisions();

}  // namespace stretto
