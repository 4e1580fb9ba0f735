// SPDX-License-Identifier: Apache-2.0
// The clock of a simulation, which all ranks share.
#pragma once

namespace stretto::simulate {

/// Seconds since the simulation began. Takes no time.
double now();

/// This rank's core is busy for so long; its messages travel on.
void compute(double seconds);

/// Returns at the same instant on all ranks of the world. Collective.
void start_together();

}  // namespace stretto::simulate
