// SPDX-License-Identifier: Apache-2.0
// A communicator is the library's until it has had a number of calls or bytes. All ranks must take over in
// the same call, even if some of them pass short calls straight to the library and others, with a datatype of
// their own, do not. This runs under STRETTO_ALLREDUCE=auto, without learning.
#include <vector>

#include "check.hpp"

namespace {

/// A sum and a broadcast of so many ints; the odd ranks describe what is broadcast by a type of their own.
void call(MPI_Comm comm, int count, MPI_Datatype pair) {
  CHECK(sums_right(comm, count));
  std::vector<int> data(static_cast<std::size_t>(count), rank_in(comm) == 0 ? 5 : 0);
  const bool is_described = rank_in(comm) % 2 == 1 && count % 2 == 0;
  MPI_Bcast(data.data(), is_described ? count / 2 : count, is_described ? pair : MPI_INT, 0, comm);
  CHECK(data.back() == 5);
  std::vector<int> blocks(static_cast<std::size_t>(size_of(comm)), rank_in(comm));
  MPI_Alltoall(MPI_IN_PLACE, 1, MPI_INT, blocks.data(), 1, MPI_INT, comm);
  CHECK(blocks.back() == size_of(comm) - 1);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Datatype pair{};
  MPI_Type_contiguous(2, MPI_INT, &pair);
  MPI_Type_commit(&pair);
  // Communicators become Stretto's by many short calls, by some longer ones, and by two long ones.
  for (const int count : {2, 1000, 50'000, 20'000'000}) {
    MPI_Comm comm{};
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    // Some more than it takes: 10 ms by the least times of calls that Stretto assumes.
    const int calls = count == 2 ? 16'000 : count == 1000 ? 6000 : count == 50'000 ? 300 : 3;
    for (int i = 0; i < calls; ++i) {
      call(comm, count, pair);
      if (i % 7 == 0) call(comm, 2, pair);
    }
    MPI_Comm_free(&comm);
  }
  MPI_Type_free(&pair);
  if (world_rank() == 0) std::puts("right");
  MPI_Finalize();
}
