// SPDX-License-Identifier: Apache-2.0
// A rank is lost in the middle of a collective, or just before it: it sends itself a signal.
//
//   lost FORM RANK SIGNAL REDUCTION
//
// All ranks make three allreduces, then one by an operation of this program's; FORM: blocking or
// non-blocking. In it RANK is lost when it is about to reduce for the REDUCTION-th time; 0: before it makes
// the call, -1: before it makes the first one. Where that rank comes back, rank 0 prints "right" in the end.
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { count = 3000000 };

static int signal_number = 0;
static int reductions_left = 0;  // 0: not to be lost in a reduction

static void sum(void* in, void* inout, int* length, MPI_Datatype* datatype) {
  (void)datatype;
  if (reductions_left > 0 && --reductions_left == 0) raise(signal_number);
  for (int i = 0; i < *length; ++i) ((int*)inout)[i] += ((int*)in)[i];
}

static void add_up(const char* form, const int* in, int* out, MPI_Op op) {
  MPI_Request request = MPI_REQUEST_NULL;
  if (strcmp(form, "blocking") == 0) {
    MPI_Allreduce(in, out, count, MPI_INT, op, MPI_COMM_WORLD);
  } else {
    MPI_Iallreduce(in, out, count, MPI_INT, op, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const char* form = argv[1];
  signal_number = atoi(argv[3]);
  const int lost_at = rank == atoi(argv[2]) ? atoi(argv[4]) : 1 << 30;
  printf("rank %d is process %d\n", rank, (int)getpid());
  fflush(stdout);

  int* in = malloc(count * sizeof(int));
  int* out = malloc(count * sizeof(int));
  for (int i = 0; i < count; ++i) in[i] = rank + i % 7;
  MPI_Op op;
  MPI_Op_create(&sum, 1, &op);
  if (lost_at == -1) raise(signal_number);
  for (int i = 0; i < 3; ++i) add_up(form, in, out, MPI_SUM);
  memset(out, 0, count * sizeof(int));
  if (lost_at == 0) raise(signal_number);
  if (lost_at > 0) reductions_left = lost_at;
  add_up(form, in, out, op);
  for (int i = 0; i < count; ++i) {
    if (out[i] != ranks * (i % 7) + ranks * (ranks - 1) / 2) MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) printf("right\n");
  MPI_Op_free(&op);
  free(in);
  free(out);
  MPI_Finalize();
  return 0;
}
