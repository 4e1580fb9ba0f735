// SPDX-License-Identifier: Apache-2.0
// A rank is lost in the middle of a collective, or just before it: it sends itself a signal.
//
//   lost FORM RANK SIGNAL REDUCTION
//
// All ranks make three allreduces, then one by an operation of this program's; FORM: blocking or
// non-blocking. In it RANK is lost when it is about to reduce for the REDUCTION-th time; 0: before it makes
// the call, -1: before it makes the first one. Where that rank comes back, rank 0 prints "right" in the end.
// With alltoall or alltoallv as FORM, all calls are of that kind and blocking, and REDUCTION is 0 or -1.
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { count = 3000000 };

static int signal_number = 0;
static int reductions_left = 0;  // 0: not to be lost in a reduction
static int rank = 0;
static int ranks = 0;

static void sum(void* in, void* inout, int* length, MPI_Datatype* datatype) {
  (void)datatype;
  if (reductions_left > 0 && --reductions_left == 0) raise(signal_number);
  for (int i = 0; i < *length; ++i) ((int*)inout)[i] += ((int*)in)[i];
}

static int is(const char* form, const char* name) {
  return strcmp(form, name) == 0;
}

static int moves_blocks(const char* form) {
  return is(form, "alltoall") || is(form, "alltoallv");
}

static void move_blocks(const char* form, const int* in, int* out) {
  const int length = count / ranks;
  if (is(form, "alltoall")) {
    MPI_Alltoall(in, length, MPI_INT, out, length, MPI_INT, MPI_COMM_WORLD);
    return;
  }
  int* lengths = malloc((size_t)ranks * sizeof(int));
  int* places = malloc((size_t)ranks * sizeof(int));
  for (int i = 0; i < ranks; ++i) {
    lengths[i] = length;
    places[i] = i * length;
  }
  MPI_Alltoallv(in, lengths, places, MPI_INT, out, lengths, places, MPI_INT, MPI_COMM_WORLD);
  free(lengths);
  free(places);
}

static void call(const char* form, const int* in, int* out, MPI_Op op) {
  MPI_Request request = MPI_REQUEST_NULL;
  if (moves_blocks(form)) {
    move_blocks(form, in, out);
  } else if (is(form, "blocking")) {
    MPI_Allreduce(in, out, count, MPI_INT, op, MPI_COMM_WORLD);
  } else {
    MPI_Iallreduce(in, out, count, MPI_INT, op, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
}

/// Element i of the result.
static int expected(const char* form, int i) {
  const int length = count / ranks;
  if (moves_blocks(form)) return i / length + (rank * length + i % length) % 7;
  return ranks * (i % 7) + ranks * (ranks - 1) / 2;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
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
  for (int i = 0; i < 3; ++i) call(form, in, out, MPI_SUM);
  memset(out, 0, count * sizeof(int));
  if (lost_at == 0) raise(signal_number);
  if (lost_at > 0) reductions_left = lost_at;
  call(form, in, out, op);
  for (int i = 0; i < count / ranks * ranks; ++i) {
    if (out[i] != expected(form, i)) MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) printf("right\n");
  MPI_Op_free(&op);
  free(in);
  free(out);
  MPI_Finalize();
  return 0;
}
