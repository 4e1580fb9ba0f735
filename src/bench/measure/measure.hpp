// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "bench/cases/cases.hpp"
#include "bench/cases/options.hpp"
#include "bench/cases/pattern.hpp"
#include "bench/library/library_algorithms.hpp"
#include "bench/measure/computation.hpp"

namespace stretto::bench {

struct Result {
  std::string spec;
  std::string mockup;  // empty: the collective itself
  Form form = Form::blocking;
  std::string chosen;     // of a mock-up: a choice for each part, joined by +
  std::size_t inner = 1;  // calls in one sample
  // Seconds of one call for each sample, on the slowest rank.
  std::vector<double> seconds;      // from its start to its end, with nothing in between
  std::vector<double> computation;  // of a computation alone that should take as long
  std::vector<double> overlapped;   // of both, with the computation between start and end
  bool with_barrier = false;        // a barrier after each call is part of its time
  std::size_t wrong = 0;            // samples whose result was wrong on some rank
};

/// State that outlasts a measurement if one job makes several.
struct Job {
  LibraryAlgorithms algorithms;
  /// Seconds of a call, as found when a spec was warmed up in a case. The warm-up is not repeated.
  std::map<std::tuple<std::string, Form, std::size_t, bool>, double> warm;
};

/// Measures all specs of a case in all forms, and the mock-ups by all specs, interleaved: every repetition
/// runs each once, in an order that is shuffled alike on all ranks. So disturbances of the machine affect all
/// of them alike, and results are paired by repetition.
class Measurement {
 public:
  /// Called with the part of a case that is done, from 0 to 1, on rank 0 only.
  using Progress = std::function<void(double)>;
  static constexpr std::size_t least_repetitions = 5;  // even if the time is up

  /// Collective over MPI_COMM_WORLD.
  Measurement(const Options& options, const Element& element, int rank, int ranks, Job& job);

  /// Collective over MPI_COMM_WORLD. Measures a case. It ends after `most_seconds`, once it has the least
  /// repetitions. Throws std::runtime_error if a call fails.
  std::vector<Result> run(const Case& one, double most_seconds, const Progress& progress);

 private:
  struct Step;
  struct Subject;
  class Trial;

  /// Returns the number of units of the computation that take `seconds`; at least one.
  std::size_t units_in(double seconds) const;

  const Options& options_;
  Job& job_;
  Element element_;
  Pattern pattern_;
  int rank_;
  int ranks_;
  std::mt19937_64 random_;
  std::uint64_t generation_ = 0;
  Computation computation_;
  double unit_seconds_ = 0.0;  // of the computation, the slowest rank's
};

}  // namespace stretto::bench
