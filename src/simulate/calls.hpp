// SPDX-License-Identifier: Apache-2.0
// One call of a collective in a simulation: by our engine, or by SMPI, which imitates the choices of an MPI
// library (smpi/coll-selector).
#pragma once

#include "mpi/mpi.hpp"

#include <memory>
#include <string>

#include "bench/cases/cases.hpp"
#include "engine/execution/schedule_execution.hpp"
#include "select/spec.hpp"
#include "topology/topology.hpp"

namespace stretto::simulate {

/// The buffers of a call on one rank.
struct Operands {
  const bench::Role& role;
  const Element& element;  // its kernel takes virtual time
  std::byte* input;
  std::byte* output;
  std::byte* copy;  // for the input of our alltoall in place
  bool copies;      // whether the input must be copied there, because there are data
};

/// A call with one of our schedules.
class OwnCall {
 public:
  /// `round` is the time that the engine takes for a round, in seconds of a core.
  OwnCall(const Operands& operands, const Spec& spec, const Topology& topology, double round);
  void run();

 private:
  Operands operands_;
  std::vector<std::size_t> borders_;
  std::vector<std::size_t> output_borders_;
  stretto::Call call_;
  std::unique_ptr<Observer> rounds_;
  std::unique_ptr<Execution> execution_;
};

/// A call with SMPI.
void run_native(const Operands& operands, MPI_Op operation);

}  // namespace stretto::simulate
