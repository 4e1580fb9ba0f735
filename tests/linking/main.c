/* SPDX-License-Identifier: Apache-2.0 */
/* For two ranks. It knows nothing of Stretto, and calls only what Stretto defines too: nothing but the way it
 * is linked keeps either library. */
#include <mpi.h>

int solve(void);

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int result = solve();
  MPI_Finalize();
  return result;
}
