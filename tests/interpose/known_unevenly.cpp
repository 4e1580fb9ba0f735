// SPDX-License-Identifier: Apache-2.0
// Ranks pass short calls straight to the library if they remember that the library gets them. A rank that has
// freed another communicator in the meantime remembers nothing, and must come to the same result.
#include <vector>

#include "check.hpp"

namespace {

void call_all(MPI_Comm comm, int count) {
  const int ranks = size_of(comm);
  const int rank = rank_in(comm);
  const auto length = static_cast<std::size_t>(count);
  const std::string text = std::to_string(count) + " on " + std::to_string(ranks) + " ranks";
  const std::vector<int> in(length, rank + 1);
  const std::vector<int> all(length, ranks * (ranks + 1) / 2);
  std::vector<int> out(length);
  MPI_Scan(in.data(), out.data(), count, MPI_INT, MPI_SUM, comm);
  CHECK(out == std::vector<int>(length, (rank + 1) * (rank + 2) / 2), text);
  MPI_Exscan(in.data(), out.data(), count, MPI_INT, MPI_SUM, comm);
  if (rank > 0) CHECK(out == std::vector<int>(length, rank * (rank + 1) / 2), text);
  MPI_Allreduce(in.data(), out.data(), count, MPI_INT, MPI_SUM, comm);
  CHECK(out == all, text);
  MPI_Reduce(in.data(), out.data(), count, MPI_INT, MPI_SUM, 0, comm);
  if (rank == 0) CHECK(out == all, text);
  MPI_Reduce_scatter_block(in.data(), out.data(), count / ranks, MPI_INT, MPI_SUM, comm);
  CHECK(out[0] == all[0], text);
  out = in;
  MPI_Bcast(out.data(), count, MPI_INT, 0, comm);
  CHECK(out == std::vector<int>(length, 1), text);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  for (const int ranks : {2, 3}) {
    for (int forgets = 0; forgets < ranks; ++forgets) {
      for (const int count : {1500, 5000}) {
        MPI_Comm comm{};
        MPI_Comm_split(MPI_COMM_WORLD, world_rank() < ranks ? 0 : MPI_UNDEFINED, 0, &comm);
        if (comm == MPI_COMM_NULL) continue;
        call_all(comm, 300);
        if (world_rank() == forgets) {
          MPI_Comm other{};
          MPI_Comm_dup(MPI_COMM_SELF, &other);
          call_all(other, 300);
          MPI_Comm_free(&other);
        }
        call_all(comm, count);
        MPI_Comm_free(&comm);
      }
    }
  }
  MPI_Finalize();
}
