// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/cases/cases.hpp"
#include "bench/cases/options.hpp"
#include "bench/cases/pattern.hpp"
#include "select/spec.hpp"
#include "simulate/host.hpp"
#include "simulate/memory.hpp"
#include "topology/topology.hpp"

namespace stretto::simulate {

struct Simulated {
  std::string chosen;           // the spec that `auto` stands for; else the spec itself
  double seconds = 0;           // from the common start to the end of the last rank
  std::optional<bool> correct;  // on all ranks; empty if there were no data to check
};

/// Times calls in virtual time. These times do not scatter, so each call is made once, or N times in a row,
/// from a common start of all ranks.
class Simulation {
 public:
  /// Collective over MPI_COMM_WORLD.
  Simulation(const bench::Options& options, Data data, bool with_arithmetic, int in_a_row);

  /// Collective over MPI_COMM_WORLD, with the same result on all ranks.
  Simulated run(const bench::Case& one, const std::string& spec);

  const Topology& topology() const { return topology_; }

 private:
  /// Makes a first call with the MPI library, so that what the library creates in it (groups of ranks) is not
  /// part of any time.
  void warm_up();
  Spec resolve(const bench::Case& one, const std::string& spec) const;
  double seconds_per_byte(std::size_t vector_bytes) const;

  const bench::Options& options_;
  Data data_;
  bool with_arithmetic_;
  int in_a_row_;
  bench::Element type_;
  int rank_ = 0;
  int ranks_ = 1;
  Topology topology_;
  bench::Pattern pattern_;
  std::vector<Row> reduction_;
  double round_;
  MPI_Op operation_;
  std::uint64_t generation_ = 0;
  bool is_warm_ = false;
};

/// Returns half the time of a message of this many bytes from rank 0 to the last rank and back. Collective;
/// all other ranks wait.
double ping_pong(std::size_t bytes);

}  // namespace stretto::simulate
