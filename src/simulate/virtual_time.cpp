// SPDX-License-Identifier: Apache-2.0
#include "simulate/virtual_time.hpp"

#include <mpi.h>

#include <algorithm>
#include <simgrid/s4u.hpp>

namespace stretto::simulate {
namespace {

/// All ranks live in one process and take turns, so that what one writes all can read (the program is run
/// without SMPI's privatization).
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
  PMPI_Barrier(MPI_COMM_WORLD);
  latest = std::max(latest, now());
  // Whoever leaves the second barrier knows that all have left the first one. What is added is more than the
  // second one can take; it costs nothing to wait.
  PMPI_Barrier(MPI_COMM_WORLD);
  simgrid::s4u::this_actor::sleep_until(latest + longest_barrier);
}

}  // namespace stretto::simulate
