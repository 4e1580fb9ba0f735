// SPDX-License-Identifier: Apache-2.0
// Ranks are in turn blocked in MPI_Comm_dup while their non-blocking allreduce is in flight, which the others
// need before they come there. So it ends only if someone advances the call meanwhile, on every rank. Prints
// "right".
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { elements = 300000 };

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  int ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  int* in = malloc(elements * sizeof(int));
  int* out = malloc(elements * sizeof(int));
  int wrong = 0;
  MPI_Comm other;
  MPI_Comm_dup(MPI_COMM_WORLD, &other);
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < elements; ++i) in[i] = rank + i;
    MPI_Request request;
    MPI_Iallreduce(in, out, elements, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    MPI_Comm duplicate;
    if (rank == round % ranks) MPI_Comm_dup(other, &duplicate);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (rank != round % ranks) MPI_Comm_dup(other, &duplicate);
    MPI_Comm_free(&duplicate);
    for (int i = 0; i < elements; ++i) wrong += out[i] != ranks * (ranks - 1) / 2 + ranks * i;
  }
  int all = 0;
  MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0 && all == 0) printf("right\n");
  MPI_Comm_free(&other);
  free(in);
  free(out);
  MPI_Finalize();
  return 0;
}
