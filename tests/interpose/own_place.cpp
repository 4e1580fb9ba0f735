// SPDX-License-Identifier: Apache-2.0
// A rank passes its own block at its place in the output without MPI_IN_PLACE, an error that Open MPI
// tolerates. The two buffers have the same address on one rank, but not on the others. All ranks must decide
// alike, and must not wait for each other.
#include <algorithm>
#include <cstddef>
#include <vector>

#include "check.hpp"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int ranks = size_of(MPI_COMM_WORLD);
  const int count = 40'000;
  std::vector<float> all(static_cast<std::size_t>(ranks) * count);
  float* const mine = all.data() + static_cast<std::ptrdiff_t>(world_rank()) * count;

  std::fill_n(mine, count, static_cast<float>(world_rank() + 1));
  CHECK(MPI_Allgather(mine, count, MPI_FLOAT, all.data(), count, MPI_FLOAT, MPI_COMM_WORLD) == MPI_SUCCESS);
  for (std::size_t i = 0; i < all.size(); ++i) CHECK(all[i] == static_cast<float>(i / count + 1));

  std::fill(all.begin(), all.end(), 1.0F);
  MPI_Request request = MPI_REQUEST_NULL;
  CHECK(MPI_Ireduce_scatter_block(all.data(), mine, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, &request) ==
        MPI_SUCCESS);
  CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
  for (int i = 0; i < count; ++i) CHECK(mine[i] == static_cast<float>(ranks));

  if (world_rank() == 0) std::puts("right");
  MPI_Finalize();
}
