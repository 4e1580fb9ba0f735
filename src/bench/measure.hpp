// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "cases.hpp"
#include "options.hpp"
#include "pattern.hpp"

namespace stretto::bench {

struct Result {
  std::string spec;
  std::string chosen;
  std::size_t inner = 1;        // calls in one sample
  std::vector<double> seconds;  // of one call, a sample each: the slowest rank's
  bool with_barrier = false;    // a barrier after each call is part of its time
  bool correct = true;          // on all ranks
};

/// Measures all specs of a case interleaved: every repetition runs each spec once, in an order that is
/// shuffled alike on all ranks, so that what disturbs the machine disturbs all of them, and results pair up
/// by repetition.
class Measurement {
 public:
  /// Told how much of a case is done, from 0 to 1, on rank 0 only.
  using Progress = std::function<void(double)>;

  Measurement(const Options& options, const Element& element, int rank, int ranks);

  /// Collective over MPI_COMM_WORLD. Throws std::runtime_error when a call fails.
  std::vector<Result> run(const Case& one, const Progress& progress);

 private:
  class Trial;

  const Options& options_;
  Element element_;
  Pattern pattern_;
  int rank_;
  int ranks_;
  std::mt19937_64 random_;
  std::uint64_t generation_ = 0;
};

}  // namespace stretto::bench
