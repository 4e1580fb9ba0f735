// SPDX-License-Identifier: Apache-2.0
// Measures the network between the ranks of a communicator, as learn/network/probe.hpp describes.
#pragma once

#include <optional>

#include "interpose/communicators/communicator.hpp"
#include "interpose/session/call_traits.hpp"
#include "learn/fabrics/fabric.hpp"

namespace stretto {

/// Measures the network with the engine itself, on Stretto's own communicator. The result is empty, on all
/// ranks alike, if a rank could not measure. Collective. To be called in a blocking call, which `traits` and
/// `spec` describe. Takes up to some 100 ms.
std::optional<MeasuredNetwork> probe_network(Communicator& state, const CallTraits& traits, const Spec& spec,
                                             MPI_Comm comm);

}  // namespace stretto
