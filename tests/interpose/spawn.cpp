// SPDX-License-Identifier: Apache-2.0
// Spawned ranks have a world of their own. The library carries out all calls between the two worlds, and
// results are right.
#include "check.hpp"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm other{};
  MPI_Comm_get_parent(&other);
  const bool child = other != MPI_COMM_NULL;
  constexpr int children = 2;
  if (!child) {
    CHECK(MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, children, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other,
                         MPI_ERRCODES_IGNORE) == MPI_SUCCESS);
  }
  CHECK(sums_right(MPI_COMM_WORLD));
  // Over the intercommunicator: each side gets the sum of the other.
  int remote = 0;
  MPI_Comm_remote_size(other, &remote);
  const int one = 1;
  int sum = 0;
  CHECK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, other) == MPI_SUCCESS);
  CHECK(sum == remote);
  MPI_Comm merged{};
  MPI_Intercomm_merge(other, child ? 1 : 0, &merged);
  CHECK(size_of(merged) == size_of(MPI_COMM_WORLD) + remote);
  for (const int count : {1, 5, 1000}) CHECK(sums_right(merged, count));
  CHECK(choice(merged, 1000) == "native" && choice(MPI_COMM_WORLD, 1000) == forced_spec());
  MPI_Comm dup{};
  MPI_Comm_dup(merged, &dup);
  CHECK(sums_right(dup, 1000));
  // Within one side again, on a communicator whose ranks all belong to one world.
  MPI_Comm side{};
  MPI_Comm_split(dup, child ? 1 : 0, 0, &side);
  CHECK(sums_right(side, 1000));
  for (MPI_Comm* comm : {&side, &dup, &merged}) MPI_Comm_free(comm);
  MPI_Comm_disconnect(&other);
  MPI_Finalize();
}
