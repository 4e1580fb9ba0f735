// SPDX-License-Identifier: Apache-2.0
// A program that ends MPI in the destructor of a static object, as C++ wrappers do, with calls in flight
// until then. The main thread has no thread-local objects any more.
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include "check.hpp"

namespace {

constexpr int count = 100000;

struct Environment {
  Environment() = default;
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;
  ~Environment() {
    wait_for_all();
    // Writes to freed memory show when the memory is allocated again.
    for (int round = 0; round < 200; ++round) {
      start_all();
      const std::vector<std::unique_ptr<std::vector<int>>> more = allocate();
      wait_for_all();
    }
    const bool is_first = world_rank() == 0;
    const int ranks = size_of(MPI_COMM_WORLD);
    for (const std::vector<int>& result : results) {
      for (const int element : result) CHECK(element == ranks);
    }
    MPI_Finalize();
    if (is_first) std::printf("right\n");
  }

  void start_all() {
    for (std::size_t i = 0; i < requests.size(); ++i) {
      MPI_Iallreduce(ones.data(), results[i].data(), count, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[i]);
    }
  }

  void wait_for_all() {
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  }

  static std::vector<std::unique_ptr<std::vector<int>>> allocate() {
    std::vector<std::unique_ptr<std::vector<int>>> all;
    for (std::size_t i = 0; i < 50; ++i) all.push_back(std::make_unique<std::vector<int>>(i, 7));
    return all;
  }

  std::vector<int> ones = std::vector<int>(count, 1);
  std::vector<std::vector<int>> results = std::vector(4, std::vector<int>(count));
  std::vector<MPI_Request> requests = std::vector<MPI_Request>(4, MPI_REQUEST_NULL);
};

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  static Environment environment;
  environment.start_all();
  int done = 0;
  // The poll makes Stretto allocate the memory that may be freed later.
  MPI_Testall(static_cast<int>(environment.requests.size()), environment.requests.data(), &done,
              MPI_STATUSES_IGNORE);
  return EXIT_SUCCESS;
}
