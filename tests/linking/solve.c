/* SPDX-License-Identifier: Apache-2.0 */
#include <mpi.h>
#include <stdio.h>

enum { COUNT = 1000 };

int solve(void) {
  static double ones[COUNT], sums[COUNT];
  int rank, ranks, right = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int i = 0; i < COUNT; ++i) ones[i] = 1;
  MPI_Allreduce(ones, sums, COUNT, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  for (int i = 0; i < COUNT; ++i) right = right && sums[i] == ranks;
  if (rank == 0) puts(right ? "right" : "wrong");
  return right ? 0 : 1;
}
