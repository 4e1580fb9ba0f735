// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/cases/collective.hpp"
#include "bench/cases/mockup.hpp"

namespace stretto::bench {

/// What one run measures, as given on the command line.
struct Options {
  bool serve = false;  // requests from standard input instead (serve.hpp), of which the rest is the usual
  Collective collective = Collective::allreduce;
  std::vector<std::string> specs;
  std::vector<Mockup> mockups;                 // measured beside the collective, by each spec
  std::vector<Form> forms = {Form::blocking};  // of each spec
  std::vector<std::size_t> sizes;              // bytes of a message
  std::vector<bool> in_place = {false};
  int root = 0;  // of a collective that has one
  /// The part of the message that the block of rank 0 holds, where a call gives a length for each rank; in an
  /// alltoall, what each rank has for the rank after it. In place, that and what it has for the rank before
  /// it are half of it each. None: the ranks' blocks are equal.
  std::optional<double> skew;
  std::string type = "float";
  std::size_t repetitions = 10;
  std::size_t warmup = 3;
  /// Nothing is called before the first sample, and each sample is one call: the first calls of a job.
  bool cold = false;
  double min_seconds = 0.0;
  double max_seconds = 30.0;
  double budget = 0.0;  // seconds for all cases together; 0: as long as it takes
  std::uint64_t seed = 1;
  bool overlap = false;     // with a computation
  double test_every = 0.0;  // seconds of it between two MPI_Test; 0: none
  /// Measure messages for so long instead of collectives; 0: collectives.
  double calibrate_seconds = 0.0;

  bool has(Form form) const { return std::find(forms.begin(), forms.end(), form) != forms.end(); }
  bool only_blocking() const { return !has(Form::non_blocking) && !has(Form::persistent); }
};

/// Throws std::invalid_argument with one line that names the value and what would be right.
Options parse_options(const std::vector<std::string>& words, Options usual = {});
/// Checks the options against each other and the number of ranks. Throws in the same way.
void check_options(const Options& options, int ranks);

}  // namespace stretto::bench
