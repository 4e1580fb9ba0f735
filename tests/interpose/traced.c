// SPDX-License-Identifier: Apache-2.0
// A program for the tests of STRETTO_TRACE and STRETTO_STATS, whose calls can be counted: on MPI_COMM_WORLD
// three allreduces and two broadcasts; at once, on it, two non-blocking allreduces, and on a communicator of
// the same ranks in reverse order a non-blocking broadcast; two persistent allreduces, started three times
// each, in another order on each rank; and one reduce on a communicator of ranks 0 and 1. Rank 0 makes the
// non-blocking calls when the others have made them, so that on those all three are under way at once. In the
// end it prints "right".
//
//   traced [ELEMENTS]
#include <mpi.h>
#if MPI_VERSION < 4
#include <mpi-ext.h>
#define MPI_Allreduce_init MPIX_Allreduce_init
#endif
#include <stdio.h>
#include <stdlib.h>

static void check(int holds) {
  if (!holds) MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int count = argc > 1 ? atoi(argv[1]) : 1000;
  int rank = 0;
  int ranks = 0;
  MPI_Comm reversed;
  MPI_Comm pair;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &reversed);
  MPI_Comm_split(MPI_COMM_WORLD, rank < 2 ? 0 : MPI_UNDEFINED, rank, &pair);
  int* in = malloc(sizeof(int) * (size_t)count);
  int* out[3];
  for (int i = 0; i < 3; ++i) out[i] = calloc((size_t)count, sizeof(int));
  for (int i = 0; i < count; ++i) in[i] = i;

  for (int i = 0; i < 3; ++i) MPI_Allreduce(in, out[0], count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  for (int i = 0; i < 2; ++i) MPI_Bcast(out[0], count, MPI_INT, i, MPI_COMM_WORLD);
  check(out[0][count - 1] == ranks * (count - 1));

  MPI_Request requests[3];
  MPI_Status statuses[3];
  int token = 0;
  for (int i = 1; rank == 0 && i < ranks; ++i) {
    MPI_Recv(&token, 1, MPI_INT, i, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Iallreduce(in, out[0], count, MPI_INT, MPI_MAX, MPI_COMM_WORLD, &requests[0]);
  MPI_Iallreduce(in, out[1], count, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[1]);
  if (rank == 0) out[2][0] = 42;
  MPI_Ibcast(out[2], count, MPI_INT, ranks - 1, reversed, &requests[2]);
  if (rank != 0) MPI_Send(&token, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
  MPI_Waitall(3, requests, statuses);
  check(out[0][count - 1] == count - 1 && out[1][count - 1] == ranks * (count - 1) && out[2][0] == 42);

  for (int i = 0; i < 2; ++i) {
    MPI_Allreduce_init(in, out[i], count, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[i]);
  }
  for (int turn = 0; turn < 3; ++turn) {
    for (int i = 0; i < 2; ++i) MPI_Start(&requests[(rank + turn + i) % 2]);
    for (int i = 0; i < 2; ++i) MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    check(out[0][count - 1] == ranks * (count - 1) && out[1][count - 1] == ranks * (count - 1));
  }
  for (int i = 0; i < 2; ++i) MPI_Request_free(&requests[i]);

  if (pair != MPI_COMM_NULL) {
    MPI_Reduce(in, out[0], count, MPI_INT, MPI_SUM, 1, pair);
    MPI_Comm_free(&pair);
  }
  MPI_Comm_free(&reversed);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) printf("right\n");
  free(in);
  for (int i = 0; i < 3; ++i) free(out[i]);
  MPI_Finalize();
  return 0;
}
