// SPDX-License-Identifier: Apache-2.0
// The clock of a simulation, shared by all ranks.
#pragma once

namespace stretto::simulate {

/// Seconds since the simulation began. Takes no time.
double now();

/// Keeps this rank's core busy for this long; its messages continue.
void compute(double seconds);

/// Returns at the same time on all ranks of the world. Collective.
void start_together();

}  // namespace stretto::simulate
