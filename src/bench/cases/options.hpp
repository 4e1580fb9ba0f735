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

/// The options of a run, as given on the command line.
struct Options {
  bool serve = false;  // take requests from standard input (serve.hpp); the other options are their defaults
  Collective collective = Collective::allreduce;
  std::vector<std::string> specs;
  std::vector<Mockup> mockups;                 // measured beside the collective, by each spec
  std::vector<Form> forms = {Form::blocking};  // of each spec
  std::vector<std::size_t> sizes;              // bytes of a message
  std::vector<bool> in_place = {false};
  int root = 0;  // of a collective that has one
  /// The part of the message that is in the block of rank 0, if a call gives a length for each rank. In an
  /// alltoall, it is the part that each rank has for the rank after it. In place, half of it is for the rank
  /// after and half for the rank before. If not set, the ranks' blocks are equal.
  std::optional<double> skew;
  std::string type = "float";
  std::size_t repetitions = 10;
  std::size_t warmup = 3;
  /// If not 0, measures the first calls of a job: nothing is called before the first sample, and each sample
  /// is so many calls in a row.
  std::size_t cold = 0;
  double min_seconds = 0.0;
  double max_seconds = 30.0;
  double budget = 0.0;  // seconds for all cases together; 0: as long as it takes
  std::uint64_t seed = 1;
  bool overlap = false;     // with a computation
  double test_every = 0.0;  // seconds of computation between two MPI_Test; 0: none
  /// Measures messages for this many seconds instead of collectives; 0: collectives.
  double calibrate_seconds = 0.0;

  bool has(Form form) const { return std::find(forms.begin(), forms.end(), form) != forms.end(); }
  bool only_blocking() const { return !has(Form::non_blocking) && !has(Form::persistent); }
};

/// Throws std::invalid_argument with one line that names the value and what was expected.
Options parse_options(const std::vector<std::string>& words, Options usual = {});
/// Checks the options against each other and the number of ranks. Throws in the same way.
void check_options(const Options& options, int ranks);

}  // namespace stretto::bench
