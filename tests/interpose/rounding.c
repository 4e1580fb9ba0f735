/* SPDX-License-Identifier: Apache-2.0 */
/* Prints a checksum of the bits of a sum of floats by MPI_Allreduce and MPI_Reduce, for each number of
 * elements that is given: they depend on the order of the additions, and so tell which algorithm was taken.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint32_t checksum(const float* values, int count) {
  uint32_t sum = 2166136261u;
  for (int i = 0; i < count; ++i) {
    uint32_t bits;
    memcpy(&bits, &values[i], sizeof bits);
    sum = (sum ^ bits) * 16777619u;
  }
  return sum;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int at = 1; at < argc; ++at) {
    const int count = atoi(argv[at]);
    float* mine = malloc((size_t)count * sizeof *mine);
    float* sum = calloc((size_t)count, sizeof *sum);
    srand((unsigned)(rank + 1));
    for (int i = 0; i < count; ++i) mine[i] = (float)rand() / 3.0f;
    MPI_Allreduce(mine, sum, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) printf("allreduce %d %08x\n", count, checksum(sum, count));
    memset(sum, 0, (size_t)count * sizeof *sum);
    MPI_Reduce(mine, sum, count, MPI_FLOAT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) printf("reduce %d %08x\n", count, checksum(sum, count));
    free(mine);
    free(sum);
  }
  MPI_Finalize();
  return 0;
}
