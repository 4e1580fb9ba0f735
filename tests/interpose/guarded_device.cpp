// SPDX-License-Identifier: Apache-2.0
// Sums of 64 KiB in device memory that the MPI library takes as it is, while the driver's copies are slow.
// Arguments: the stand-in's path, the bytes that it copies in a second, and the number of calls of each form.
// Rank 0 prints "right".
#include "device.hpp"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  CHECK(argc == 4);
  driver = dlopen(argv[1], RTLD_LAZY);
  CHECK(driver != nullptr, argv[1]);
  from_driver<void (*)(double)>("stand_in_set_rate")(std::atof(argv[2]));
  constexpr int count = 16384;
  const int ranks = size_of(MPI_COMM_WORLD);
  Buffer input(count * sizeof(int), true, "stand_in_allocate_open");
  Buffer output(count * sizeof(int), true, "stand_in_allocate_open");
  for (const bool blocking : {true, false}) {
    for (int call = 0; call < std::atoi(argv[3]); ++call) {
      for (int i = 0; i < count; ++i) reinterpret_cast<int*>(input.data)[i] = i + call * (world_rank() + 1);
      MPI_Request request = MPI_REQUEST_NULL;
      if (blocking) {
        MPI_Allreduce(input.address, output.address, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
      } else {
        MPI_Iallreduce(input.address, output.address, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        CHECK(sums_right(MPI_COMM_WORLD, 1));  // there the ranks agree
      }
      for (int i = 0; i < count; ++i) {
        CHECK(reinterpret_cast<int*>(output.data)[i] == ranks * i + call * ranks * (ranks + 1) / 2);
      }
    }
  }
  if (world_rank() == 0) std::printf("right\n");
  MPI_Finalize();
}
