// SPDX-License-Identifier: Apache-2.0
// The results that jobs have found on this network (learn/fabrics/fabric.hpp). They are read when a
// communicator first needs them, and written at the end of the job.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "interpose/communicators/communicator.hpp"
#include "interpose/session/call_traits.hpp"
#include "learn/fabrics/fabric.hpp"

namespace stretto {

/// Returns the known results for calls on this communicator, the same on all of its ranks. At the first use
/// it is collective over `comm`: rank 0 sends the results to the others. To be called in a blocking call.
const Fabric& known_fabric(Communicator& state, const CallTraits& traits, const Spec& spec, MPI_Comm comm);

/// Returns the measurements of the network between the ranks of this communicator. If there are none yet, the
/// ranks measure it. The result is empty, on all ranks alike, if they cannot. Collective like known_fabric().
const std::optional<MeasuredNetwork>& measured_network(Communicator& state, const CallTraits& traits,
                                                       const Spec& spec, MPI_Comm comm);

/// Begins to look at the links of the nodes while calls use them, if that is useful on this network. Does
/// nothing if the network is not measured yet, or if it was called before. Collective over `comm`.
void begin_looks_at_links(Communicator& state, MPI_Comm comm);
/// Keeps measurements with the rates that these looks have found, for communicators that are made later and
/// for the next job. To be called on rank 0 of a communicator.
void note_links(MeasuredNetwork measured, const std::vector<double>& rates);
/// Puts these rates into the measurements of the communicator, too. Its decisions no longer hold.
void correct_links(Communicator& state, const std::vector<double>& rates);

/// Gives all ranks of `comm` the text of its rank 0. Returns whether it has arrived.
bool send_from_rank_0(std::string& text, MPI_Comm comm);

CallKind kind_of(const CallTraits& traits, const Topology& topology, Form form);
/// Returns what a job has decided for calls of this kind; nothing if none has.
std::optional<Finding> find_decided(const Fabric& fabric, const CallTraits& traits, const Topology& topology,
                                    Form form);

/// Keeps a decision for communicators that are made later, and for the next job. To be called on rank 0 of a
/// communicator.
void note_decision(Decision decision);
/// Keeps measurements likewise.
void note_measured(const MeasuredNetwork& measured);

/// Forgets the earlier measurements, because the network has changed.
void note_change();
/// Drops the decision for these calls, which take many times as long as it says. The file says so at once:
/// the job may be ended because it is slow. To be called on rank 0 of a communicator.
void note_dropped(const CallKind& kind);

/// Whether a duel has found that the MPI default is fastest for blocking calls of so many bytes, a power of
/// two, and up to twice as many. Asks for communicators of the shape of MPI_COMM_WORLD. To be called on its
/// rank 0.
bool is_default_best(Collective collective, std::size_t from);

/// Writes the results of this job to the file. To be called on rank 0 of MPI_COMM_WORLD. Returns an empty
/// line, or one with the reason why it cannot write.
std::string save_decisions();

}  // namespace stretto
