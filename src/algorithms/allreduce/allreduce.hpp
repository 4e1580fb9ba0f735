// SPDX-License-Identifier: Apache-2.0
// The allreduce algorithms: each is described on top of its own file.
#pragma once

#include "schedule/schedule.hpp"
#include "schedule/topology.hpp"

namespace stretto::allreduce {

Schedule ring(const Topology& topology, int rank);
Schedule recursive_doubling(const Topology& topology, int rank);
Schedule rabenseifner(const Topology& topology, int rank);
Schedule linear(const Topology& topology, int rank);
Schedule binomial(const Topology& topology, int rank);

}  // namespace stretto::allreduce
