// SPDX-License-Identifier: Apache-2.0
#include "bench/calibration/common/waiting.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#include "bench/measure/calls.hpp"
#include "mpi/mpi.hpp"
#include "threads/backoff.hpp"

namespace stretto::bench {
namespace {

using std::chrono::microseconds;

constexpr microseconds first_sleep{20};
constexpr microseconds longest_sleep{2000};

}  // namespace

void check(int code) {
  if (code != MPI_SUCCESS) fail("calibration", code);
}

void finish(std::span<MPI_Request> requests) {
  auto* const test_all = mpi.Testall;
  Backoff backoff;
  for (;;) {
    int done = 0;
    check(test_all(static_cast<int>(requests.size()), requests.data(), &done, mpi.statuses_ignore));
    if (done != 0) return;
    backoff.wait();
  }
}

void finish(MPI_Request request) {
  finish(std::span(&request, 1));
}

void line_up(MPI_Comm comm) {
  MPI_Request request = mpi.request_null;
  check(mpi.Ibarrier(comm, &request));
  finish(request);
}

std::vector<double> meet(std::vector<double> values, const std::function<void()>& on_progress) {
  std::vector<double> all(values.size());
  MPI_Request request = mpi.request_null;
  check(mpi.Iallreduce(values.data(), all.data(), static_cast<int>(values.size()), mpi.double_, mpi.max,
                       mpi.comm_world, &request));
  auto* const test = mpi.Test;
  for (microseconds sleep = first_sleep;; sleep = std::min(sleep * 2, longest_sleep)) {
    int done = 0;
    check(test(&request, &done, mpi.status_ignore));
    if (done != 0) return all;
    std::this_thread::sleep_for(sleep);
    if (on_progress) on_progress();
  }
}

}  // namespace stretto::bench
