// SPDX-License-Identifier: Apache-2.0
// Rank 1 makes its last allreduce of MPI_COMM_WORLD when a file is there; until then it computes. Before
// that, all ranks make one, others on a copy of MPI_COMM_WORLD, and then one in each of STEPS steps of 50 ms.
//
//   late FILE [STEPS]
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm copy;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  static int buffer[1000];
  MPI_Allreduce(MPI_IN_PLACE, buffer, 1000, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Allreduce(MPI_IN_PLACE, buffer, 1000, MPI_INT, MPI_SUM, copy);
  MPI_Allreduce(MPI_IN_PLACE, buffer, 1000, MPI_INT, MPI_SUM, copy);
  for (int step = argc > 2 ? atoi(argv[2]) : 0; step > 0; --step) {
    usleep(50000);
    MPI_Allreduce(MPI_IN_PLACE, buffer, 1000, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  }
  while (rank == 1 && access(argv[1], F_OK) != 0) usleep(10000);
  MPI_Allreduce(MPI_IN_PLACE, buffer, 1000, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) puts("right");
  MPI_Comm_free(&copy);
  MPI_Finalize();
}
