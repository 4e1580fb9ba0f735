// SPDX-License-Identifier: Apache-2.0
#include "simulate/virtual_time.hpp"

#include "mpi/mpi.hpp"

#include <algorithm>
#include <simgrid/s4u.hpp>

extern "C" void smpi_execute_flops(double flops);  // from SMPI

namespace stretto::simulate {
namespace {

/// The latest time at which a rank left the first barrier. All ranks share one process and take turns, so
/// each can read what another one writes (the program runs without SMPI's privatization).
double latest = 0;

constexpr double longest_barrier = 10.0;  // seconds

}  // namespace

double now() {
  return simgrid::s4u::Engine::get_clock();
}

void compute(double seconds) {
  if (seconds > 0) smpi_execute_flops(seconds * simgrid::s4u::this_actor::get_host()->get_speed());
}

void start_together() {
  mpi.Barrier(mpi.comm_world);
  latest = std::max(latest, now());
  // When a rank leaves the second barrier, all have left the first one. The added time is longer than the
  // second barrier can take; in virtual time the wait costs nothing.
  mpi.Barrier(mpi.comm_world);
  simgrid::s4u::this_actor::sleep_until(latest + longest_barrier);
}

}  // namespace stretto::simulate
