// SPDX-License-Identifier: Apache-2.0
// The measuring program, without its beginning (program/main.cpp). It times collectives by several specs in
// one run, checks their results, and prints events (output/report.hpp) for `stretto bench`. For `stretto
// calibrate`, it measures messages instead. Its own traffic uses PMPI, so that Stretto does not change it.
//
// With --serve yes, one job makes many measurements. Each line of standard input has the options of one, in
// the form of the command line, which has the defaults. The job answers each line by events from `start` to
// `end`, or by an `error`, after which it goes on. It ends with standard input or the line `end`.

#include <chrono>
#include <exception>
#include <iostream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <vector>

#include "bench/calibration/calibration.hpp"
#include "bench/cases/cases.hpp"
#include "bench/cases/options.hpp"
#include "bench/cases/pattern.hpp"
#include "bench/library/program.hpp"
#include "bench/library/store_job.hpp"
#include "bench/measure/budget.hpp"
#include "bench/measure/measure.hpp"
#include "bench/output/report.hpp"
#include "bench/serve.hpp"
#include "mpi/mpi.hpp"
#include "threads/clock.hpp"

namespace {

using namespace stretto;
using namespace stretto::bench;

/// Returns the seconds since the start by the clock of rank 0, on all ranks.
double common_seconds_since(double begin) {
  double elapsed = seconds_now() - begin;
  mpi.Bcast(&elapsed, 1, mpi.double_, 0, mpi.comm_world);
  return elapsed;
}

/// Returns whether all results were right.
bool run(const Options& options, const Placement& placement, Job& job) {
  const bool speaks = placement.rank == 0;
  if (options.calibrate_seconds > 0) {
    calibrate(options, placement);
    if (speaks) report_end();
    return true;
  }
  check_options(options, placement.ranks);
  const Element element = find_element(options.type);
  const std::vector<Case> cases = list_cases(options, element, placement.ranks);
  Measurement measurement(options, element, placement.rank, placement.ranks, job);

  if (speaks) report_start(options, cases, placement);
  const auto total = static_cast<double>(cases.size());
  Budget budget(options, cases);
  const double begin = seconds_now();
  bool correct = true;
  for (std::size_t index = 0; index < cases.size(); ++index) {
    const auto done = static_cast<double>(index);
    const double elapsed = common_seconds_since(begin);
    if (!budget.has_time_for(cases[index], elapsed)) {
      budget.note_skipped(cases[index]);
      if (speaks) report_skipped(cases[index]);
      continue;
    }
    const auto results = measurement.run(cases[index], budget.seconds_for(cases[index], elapsed),
                                         [&](double part) { report_progress(done + part, total); });
    budget.note(cases[index], results);
    for (const Result& result : results) {
      correct = correct && result.wrong == 0;
      if (speaks) report_result(cases[index], result);
    }
  }
  if (speaks) report_end();
  return correct;
}

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream text(line);
  return {std::istream_iterator<std::string>(text), {}};
}

/// Returns whether all results were right.
bool serve(const Options& usual, const Placement& placement, Job& job) {
  const bool speaks = placement.rank == 0;
  bool correct = true;
  if (speaks) report_ready(usual, placement);
  while (const auto line = next_request(placement.rank)) {
    try {
      const Options options = parse_options(words_of(*line), usual);
      if (!options.only_blocking() && usual.only_blocking()) {
        throw std::invalid_argument("--forms: the job was started for blocking calls only");
      }
      correct = run(options, placement, job) && correct;
    } catch (const std::invalid_argument& error) {
      // All ranks have the same error.
      if (speaks) report_error(error.what());
    }
  }
  return correct;
}

int complain(const std::string& reason) {
  std::cerr << "stretto-bench: " << reason << std::endl;
  return 2;
}

}  // namespace

/// Runs the measuring program and returns the exit status. program/main.cpp calls it.
extern "C" [[gnu::visibility("default")]] int stretto_bench_main(int argc, char** argv) {
  Options options;
  std::exception_ptr wrong;
  try {
    options = parse_options({argv + 1, argv + argc});
  } catch (const std::invalid_argument&) {
    wrong = std::current_exception();
  }
  const bool has_library = std::string_view(argv[0]) != "sockets";
  int wanted = mpi.thread_single;
  int provided = mpi.thread_single;
  if (has_library) {
    if (const std::string error = load_mpi(); !error.empty()) return complain(error);
    // Asks for what Stretto asks for if a program's symbols include non-blocking collectives. This program
    // finds these functions at run time.
    wanted = options.only_blocking() ? mpi.thread_single : mpi.thread_multiple;
    MPI_Init_thread(&argc, &argv, wanted, &provided);
    load_mpi();
  } else {
    try {
      begin_store_job();
    } catch (const std::runtime_error& error) {
      return complain(error.what());
    }
  }
  mpi.Comm_set_errhandler(mpi.comm_world, mpi.errors_return);
  const Placement placement = find_placement();
  int status = 1;
  try {
    if (wrong) std::rethrow_exception(wrong);
    if (provided < wanted) {
      throw std::invalid_argument(
          "--forms: this MPI library does not provide MPI_THREAD_MULTIPLE, so it handles non-blocking calls "
          "itself");
    }
    Job job;
    status = (options.serve ? serve(options, placement, job) : run(options, placement, job)) ? 0 : 1;
  } catch (const std::invalid_argument& error) {
    // All ranks see wrong arguments, so they end normally: a launcher may drop what an aborting rank wrote.
    if (placement.rank == 0) report_error(error.what());
    status = 2;
  } catch (const std::exception& error) {
    if (placement.rank == 0) {
      report_error(error.what());
    } else {
      std::cerr << "stretto-bench: rank " << placement.rank << ": " << error.what() << std::endl;
    }
    // Gives the launcher time to forward the output.
    std::this_thread::sleep_for(std::chrono::seconds(1));
    mpi.Abort(mpi.comm_world, 2);
  }
  if (has_library) {
    MPI_Finalize();
  } else {
    end_store_job();
  }
  return status;
}
