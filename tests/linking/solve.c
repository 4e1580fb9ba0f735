/* SPDX-License-Identifier: Apache-2.0 */
#include <mpi.h>

enum { COUNT = 1000 };

int solve(void) {
  static double ones[COUNT], sums[COUNT];
  for (int i = 0; i < COUNT; ++i) ones[i] = 1;
  MPI_Allreduce(ones, sums, COUNT, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  for (int i = 0; i < COUNT; ++i) {
    if (sums[i] != 2) return 1;
  }
  return 0;
}
