// SPDX-License-Identifier: Apache-2.0
// A tool behind Stretto with which the last rank leaves MPI_Init two seconds later than the others.
#include <mpi.h>
#include <unistd.h>

static int be_late(int result) {
  int rank = 0;
  int ranks = 1;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (rank == ranks - 1) sleep(2);
  return result;
}

int MPI_Init(int* argc, char*** argv) {
  return be_late(PMPI_Init(argc, argv));
}

int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  return be_late(PMPI_Init_thread(argc, argv, required, provided));
}
