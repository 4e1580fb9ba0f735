// SPDX-License-Identifier: Apache-2.0
// Non-blocking calls with blocks of different lengths, again and again. The guard would race the choice
// against the library's own call, which it can make only for equal blocks.
#include <numeric>
#include <vector>

#include "check.hpp"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int ranks = size_of(MPI_COMM_WORLD);
  const int rank = world_rank();
  std::vector<int> counts;
  std::vector<int> displacements;
  for (int one = 0; one < ranks; ++one) {
    displacements.push_back(std::accumulate(counts.begin(), counts.end(), 0));
    counts.push_back(5000 * (one + 1));
  }
  const int own = counts[static_cast<std::size_t>(rank)];
  std::vector<int> result(static_cast<std::size_t>(displacements.back() + counts.back()));
  for (int call = 0; call < 40; ++call) {
    const std::vector<int> mine(static_cast<std::size_t>(own), 100 * call + rank);
    MPI_Request request = MPI_REQUEST_NULL;
    CHECK(MPI_Iallgatherv(mine.data(), own, MPI_INT, result.data(), counts.data(), displacements.data(),
                          MPI_INT, MPI_COMM_WORLD, &request) == MPI_SUCCESS);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int one = 0; one < ranks; ++one) {
      const auto i = static_cast<std::size_t>(one);
      const auto first = result.begin() + displacements[i];
      CHECK(std::vector<int>(first, first + counts[i]) ==
            std::vector<int>(static_cast<std::size_t>(counts[i]), 100 * call + one));
    }
  }
  MPI_Finalize();
}
