// SPDX-License-Identifier: Apache-2.0
#include "bench/serve.hpp"

#include <algorithm>
#include <chrono>
#include <iostream>
#include <string_view>
#include <thread>

#include "mpi/mpi.hpp"

namespace stretto::bench {
namespace {

constexpr std::string_view last_request = "end";
constexpr std::chrono::microseconds shortest_sleep{100};
constexpr std::chrono::microseconds longest_sleep{20'000};

void wait_asleep(MPI_Request& request) {
  auto* const test = mpi.Test;
  int done = 0;
  for (auto sleep = shortest_sleep;; sleep = std::min(2 * sleep, longest_sleep)) {
    test(&request, &done, mpi.status_ignore);
    if (done != 0) return;
    std::this_thread::sleep_for(sleep);
  }
}

}  // namespace

std::optional<std::string> next_request(int rank) {
  std::string line;
  int length = -1;
  if (rank == 0 && std::getline(std::cin, line) && line != last_request) {
    length = static_cast<int>(line.size());
  }
  MPI_Request request = mpi.request_null;
  mpi.Ibcast(&length, 1, mpi.int_, 0, mpi.comm_world, &request);
  wait_asleep(request);
  if (length < 0) return std::nullopt;
  line.resize(static_cast<std::size_t>(length));
  mpi.Bcast(line.data(), length, mpi.char_, 0, mpi.comm_world);
  return line;
}

}  // namespace stretto::bench
