// SPDX-License-Identifier: Apache-2.0
// A communicator is freed right after its first collective was started, while other ranks wait for this one
// before they start theirs. MPI_Comm_free must not wait.
#include <vector>

#include "check.hpp"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int ranks = size_of(MPI_COMM_WORLD);
  for (int turn = 0; turn < 50; ++turn) {
    MPI_Comm comm{};
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    std::vector<int> in(1000, world_rank() + turn);
    std::vector<int> out(1000);
    int go = turn;
    if (world_rank() > 0) {
      MPI_Recv(&go, 1, MPI_INT, world_rank() - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Request request{};
    MPI_Iallreduce(in.data(), out.data(), 1000, MPI_INT, MPI_SUM, comm, &request);
    MPI_Comm_free(&comm);
    CHECK(comm == MPI_COMM_NULL);
    if (world_rank() < ranks - 1) MPI_Send(&go, 1, MPI_INT, world_rank() + 1, 0, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    const int wanted = ranks * turn + ranks * (ranks - 1) / 2;
    CHECK(out == std::vector<int>(1000, wanted), std::to_string(out.front()));
  }
  MPI_Finalize();
}
