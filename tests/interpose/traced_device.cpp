// SPDX-License-Identifier: Apache-2.0
// A program for the tests of STRETTO_TRACE with buffers in device memory, by the stand-in of the driver: two
// allreduces of the same floats, out of place and in place, on rank 1 in device memory. In the end it prints
// "right". Arguments: the stand-in's path, and the number of floats.
#include <cstdio>
#include <cstdlib>

#include "device.hpp"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  CHECK(argc == 3);
  const int count = std::atoi(argv[2]);
  const bool mine = world_rank() == 1;
  if (mine) {
    driver = dlopen(argv[1], RTLD_LAZY);
    CHECK(driver != nullptr, argv[1]);
  }
  {
    const std::size_t bytes = sizeof(float) * static_cast<std::size_t>(count);
    Buffer input(bytes, mine);
    Buffer output(bytes, mine);
    for (int i = 0; i < count; ++i) reinterpret_cast<float*>(input.data)[i] = 1;
    MPI_Allreduce(input.address, output.address, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, input.address, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    const auto sum = static_cast<float>(size_of(MPI_COMM_WORLD));
    for (int i = 0; i < count; ++i) {
      CHECK(reinterpret_cast<float*>(output.data)[i] == sum &&
            reinterpret_cast<float*>(input.data)[i] == sum);
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (world_rank() == 0) std::printf("right\n");
  MPI_Finalize();
}
