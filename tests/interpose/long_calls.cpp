// SPDX-License-Identifier: Apache-2.0
// long_calls FOLDER: ten allreduces of 2 MiB, then, once the test has made the file "go" in the folder,
// thirty more. Rank 0 makes a file "ready" before that.
#include <mpi.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "check.hpp"

namespace {

void reduce(int calls) {
  constexpr int count = 1 << 19;
  std::vector<float> sum(count, 1);
  for (int call = 0; call < calls; ++call) {
    std::vector<float> own(count, 1);
    MPI_Allreduce(own.data(), sum.data(), count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    int ranks = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    CHECK(sum.front() == static_cast<float>(ranks) && sum.back() == static_cast<float>(ranks),
          "call " + std::to_string(call));
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const std::string folder = argv[1];
  reduce(10);
  if (world_rank() == 0) {
    std::ofstream(folder + "/ready") << "ready\n";
    while (access((folder + "/go").c_str(), F_OK) != 0)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  MPI_Barrier(MPI_COMM_WORLD);
  reduce(30);
  if (world_rank() == 0) std::puts("right");
  MPI_Finalize();
}
