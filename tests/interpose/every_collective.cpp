// SPDX-License-Identifier: Apache-2.0
// A job that calls each collective once, with messages of as many bytes as the argument says: a power of two.
#include <cstdlib>
#include <vector>

#include "check.hpp"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const MPI_Comm comm = MPI_COMM_WORLD;
  const int ranks = size_of(comm);
  const int whole = std::atoi(argv[1]) / static_cast<int>(sizeof(float));
  const int block = whole / ranks;
  std::vector<float> input(static_cast<std::size_t>(whole), 1);
  std::vector<float> output(static_cast<std::size_t>(whole));
  const std::vector<int> blocks(static_cast<std::size_t>(ranks), block);
  float* const in = input.data();
  float* const out = output.data();
  MPI_Allreduce(in, out, whole, MPI_FLOAT, MPI_SUM, comm);
  CHECK(output.back() == static_cast<float>(ranks));
  MPI_Bcast(out, whole, MPI_FLOAT, 0, comm);
  MPI_Reduce(in, out, whole, MPI_FLOAT, MPI_SUM, 0, comm);
  MPI_Reduce_scatter(in, out, blocks.data(), MPI_FLOAT, MPI_SUM, comm);
  CHECK(output.front() == static_cast<float>(ranks));
  MPI_Allgather(in, block, MPI_FLOAT, out, block, MPI_FLOAT, comm);
  CHECK(output.back() == 1);
  MPI_Alltoall(in, block, MPI_FLOAT, out, block, MPI_FLOAT, comm);
  MPI_Gather(in, block, MPI_FLOAT, out, block, MPI_FLOAT, 0, comm);
  MPI_Scatter(in, block, MPI_FLOAT, out, block, MPI_FLOAT, 0, comm);
  MPI_Scan(in, out, whole, MPI_FLOAT, MPI_SUM, comm);
  MPI_Exscan(in, out, whole, MPI_FLOAT, MPI_SUM, comm);
  if (world_rank() == 0) std::puts("right");
  MPI_Finalize();
  return 0;
}
