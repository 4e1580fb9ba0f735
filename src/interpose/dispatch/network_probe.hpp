// SPDX-License-Identifier: Apache-2.0
// Measures the network between the ranks of a communicator, by learn/network/probe.hpp.
#pragma once

#include <optional>

#include "interpose/communicators/communicator.hpp"
#include "interpose/session/call_traits.hpp"
#include "learn/fabrics/fabric.hpp"

namespace stretto {

/// Returns what the ranks have measured, with the engine itself and on Stretto's own communicator.
/// Empty, on all ranks alike, if a rank could not. Collective; to be called in a blocking call, `traits` and
/// `spec` say which. Takes up to some 100 ms.
std::optional<MeasuredNetwork> probe_network(Communicator& state, const CallTraits& traits, const Spec& spec,
                                             MPI_Comm comm);

}  // namespace stretto
