/* SPDX-License-Identifier: Apache-2.0 */
/* A program that knows nothing of Stretto: just MPI, and none of Stretto's own symbols. */
#include <mpi.h>

int solve(void);

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int result = solve();
  MPI_Finalize();
  return result;
}
