// SPDX-License-Identifier: Apache-2.0
// Rank 1 is late for an allreduce of so many bytes, and for an alltoallv.
//
//   slow_calls BYTES MILLISECONDS MILLISECONDS
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void be_late(int rank, const char* milliseconds) {
  if (rank == 1) usleep(1000 * atoi(milliseconds));
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int bytes = atoi(argv[1]);
  char* from = calloc(bytes, 1);
  char* into = calloc(bytes, 1);
  be_late(rank, argv[2]);
  MPI_Allreduce(from, into, bytes, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD);
  int* ones = calloc(ranks, sizeof *ones);
  int* places = calloc(ranks, sizeof *places);
  for (int i = 0; i < ranks; ++i) {
    ones[i] = 1;
    places[i] = i;
  }
  be_late(rank, argv[3]);
  MPI_Alltoallv(from, ones, places, MPI_BYTE, into, ones, places, MPI_BYTE, MPI_COMM_WORLD);
  if (rank == 0) puts("right");
  MPI_Finalize();
}
