// SPDX-License-Identifier: Apache-2.0
#include "bench/output/report.hpp"
#include "bench/library/program.hpp"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string_view>

#include "bench/library/library_algorithms.hpp"
#include "mpi/mpi.hpp"

namespace stretto::bench {
namespace {

using Json = nlohmann::ordered_json;

void print(const Json& event) {
  // Texts of an MPI library may contain bytes that are not UTF-8. They are replaced, so that nothing
  // throws.
  std::cout << event.dump(-1, ' ', false, Json::error_handler_t::replace) << std::endl;
}

/// Returns the first words of the library's version text: `Open MPI v4.1.4`, `MPICH Version: 4.0.2`.
std::string library_version() {
  MpiText text{};
  int length = 0;
  mpi.Get_library_version(text.data(), &length);
  std::string words;
  for (const char letter : std::string(text.data(), static_cast<std::size_t>(length))) {
    if (letter == '\n' || letter == ',') break;
    const bool space = std::isspace(static_cast<unsigned char>(letter)) != 0;
    if (!space || (!words.empty() && words.back() != ' ')) words += space ? ' ' : letter;
  }
  return words;
}

Json about_job(const char* event, const Placement& placement) {
  return {{"event", event},           {"library", library_version()},
          {"ranks", placement.ranks}, {"nodes", placement.ppn.size()},
          {"ppn", placement.ppn},     {"stretto", stretto_version()}};
}

}  // namespace

Placement find_placement() {
  Placement placement;
  mpi.Comm_rank(mpi.comm_world, &placement.rank);
  mpi.Comm_size(mpi.comm_world, &placement.ranks);
  MPI_Comm node = mpi.comm_null;
  mpi.Comm_split_type(mpi.comm_world, mpi.comm_type_shared, 0, mpi.info_null, &node);
  int node_rank = 0;
  int node_ranks = 0;
  mpi.Comm_rank(node, &node_rank);
  mpi.Comm_size(node, &node_ranks);
  mpi.Comm_free(&node);
  // Each node counts once, by its first rank.
  const int counted = node_rank == 0 ? node_ranks : 0;
  placement.ppn.resize(static_cast<std::size_t>(placement.ranks));
  mpi.Gather(&counted, 1, mpi.int_, placement.ppn.data(), 1, mpi.int_, 0, mpi.comm_world);
  std::erase(placement.ppn, 0);
  return placement;
}

void report_ready(const Options& usual, const Placement& placement) {
  Json names = Json::object();
  for (const MpiFunctionFacts& one : mpi_functions) {
    for (const Form form : usual.forms) {
      names[std::string(one.name)][std::string(name_of(form))] = LibraryAlgorithms::names(one.function, form);
    }
  }
  Json event = about_job("ready", placement);
  event["algorithms"] = names;
  event["by_launch"] = LibraryAlgorithms::by_launch();
  print(event);
}

void report_start(const Options& options, const std::vector<Case>& cases, const Placement& placement) {
  std::vector<std::size_t> sizes;
  for (const Case& one : cases) {
    if (std::find(sizes.begin(), sizes.end(), one.bytes) == sizes.end()) sizes.push_back(one.bytes);
  }
  std::vector<std::string_view> forms;
  for (const Form form : options.forms) forms.push_back(name_of(form));
  const char* const progress_thread = std::getenv("STRETTO_PROGRESS_THREAD");
  Json event = about_job("start", placement);
  event.update({{"collective", name_of(options.collective)},
                {"root", options.root},
                {"skew", options.skew ? Json(*options.skew) : Json(nullptr)},
                {"specs", options.specs},
                {"forms", forms},
                {"progress_thread", progress_thread != nullptr && std::string_view(progress_thread) == "1"},
                {"test_every", options.test_every},
                {"sizes", sizes},
                {"type", options.type}});
  print(event);
}

void report_calibration(const Options& options, const Placement& placement) {
  Json event = about_job("start", placement);
  event["seconds"] = options.calibrate_seconds;
  print(event);
}

void report_progress(double done, double total) {
  using Clock = std::chrono::steady_clock;
  static Clock::time_point last;
  const Clock::time_point now = Clock::now();
  if (now - last < std::chrono::milliseconds(100) && done < total) return;
  last = now;
  print({{"event", "progress"}, {"done", std::round(done * 100) / 100}, {"total", total}});
}

void report_result(const Case& one, const Result& result) {
  print({{"event", "result"},
         {"bytes", one.bytes},
         {"in_place", one.in_place},
         {"spec", result.spec},
         {"mockup", result.mockup},
         {"form", name_of(result.form)},
         {"chosen", result.chosen},
         {"inner", result.inner},
         {"with_barrier", result.with_barrier},
         {"seconds", result.seconds},
         {"computation", result.computation},
         {"overlapped", result.overlapped},
         {"correct", result.wrong == 0},
         {"wrong", result.wrong}});
}

void report_skipped(const Case& one) {
  print({{"event", "skipped"}, {"bytes", one.bytes}, {"in_place", one.in_place}});
}

void report_error(const std::string& message) {
  print({{"event", "error"}, {"message", message}});
}

void report_end() {
  print({{"event", "end"}});
}

void report_lines(const std::string& lines) {
  std::cout << lines << std::flush;
}

}  // namespace stretto::bench
