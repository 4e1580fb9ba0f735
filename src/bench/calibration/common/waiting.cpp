// SPDX-License-Identifier: Apache-2.0
#include "bench/calibration/common/waiting.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#include "bench/library/library.hpp"
#include "bench/measure/calls.hpp"
#include "threads/backoff.hpp"

namespace stretto::bench {
namespace {

using std::chrono::microseconds;

constexpr microseconds first_sleep{20};
constexpr microseconds longest_sleep{2000};

using Iallreduce = int(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Request*);

/// Looked up at run time: a program whose symbols include non-blocking collectives is initialized in
/// another way (interpose/session/thread_level.hpp).
Iallreduce* find_iallreduce() {
  static auto* const found = reinterpret_cast<Iallreduce*>(find_in_library("PMPI_Iallreduce"));
  if (found == nullptr) fail("calibration: MPI_Iallreduce", MPI_ERR_UNSUPPORTED_OPERATION);
  return found;
}

void check(int code) {
  if (code != MPI_SUCCESS) fail("calibration", code);
}

}  // namespace

void finish(std::span<MPI_Request> requests) {
  auto* const test_all = LIBRARY(PMPI_Testall);
  Backoff backoff;
  for (;;) {
    int done = 0;
    check(test_all(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE));
    if (done != 0) return;
    backoff.wait();
  }
}

void line_up(MPI_Comm comm) {
  MPI_Request request = MPI_REQUEST_NULL;
  check(LIBRARY(PMPI_Ibarrier)(comm, &request));
  finish(std::span(&request, 1));
}

std::vector<double> meet(std::vector<double> values, const std::function<void()>& on_progress) {
  std::vector<double> all(values.size());
  MPI_Request request = MPI_REQUEST_NULL;
  check(find_iallreduce()(values.data(), all.data(), static_cast<int>(values.size()), MPI_DOUBLE, MPI_MAX,
                          MPI_COMM_WORLD, &request));
  auto* const test = LIBRARY(PMPI_Test);
  for (microseconds sleep = first_sleep;; sleep = std::min(sleep * 2, longest_sleep)) {
    int done = 0;
    check(test(&request, &done, MPI_STATUS_IGNORE));
    if (done != 0) return all;
    std::this_thread::sleep_for(sleep);
    if (on_progress) on_progress();
  }
}

}  // namespace stretto::bench
