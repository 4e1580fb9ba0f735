// SPDX-License-Identifier: Apache-2.0
// Two calls between which no rank communicates until a file is there: PREFIX-goes-on. Each rank makes a file
// when it has made the first call: PREFIX-idle-RANK.
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "check.hpp"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  constexpr int count = 1 << 18;  // 1 MiB of int
  const std::string prefix = argv[1];
  CHECK(sums_right(MPI_COMM_WORLD, count));
  std::ofstream(prefix + "-idle-" + std::to_string(world_rank()));
  while (!std::filesystem::exists(prefix + "-goes-on"))
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  CHECK(sums_right(MPI_COMM_WORLD, count));
  if (world_rank() == 0) std::puts("right");
  MPI_Finalize();
}
