/* SPDX-License-Identifier: Apache-2.0 */
/* Stretto's C interface: a sum that travels while the program computes, once by stretto_iallreduce and then
 * again and again by one persistent request. Build it as examples/CMakeLists.txt says; then
 *
 *     mpirun -np 2 ./overlap [SPEC]        as in ./overlap recursive_doubling:segments=2
 */
#include <mpi.h>
#include <stdio.h>
#include <stretto/stretto.h>

enum { COUNT = 1 << 18, STEPS = 3 }; /* 2 MiB of doubles */

static double mine[COUNT], sum[COUNT], other[COUNT];
static int rank, ranks;

/* What each rank puts in, and whether the sum is right. Small integers, so that any order of additions gives
 * the same. */
static void fill(int step) {
  for (int i = 0; i < COUNT; ++i) mine[i] = (i + step) % 100 + rank;
}

static int is_right(int step) {
  for (int i = 0; i < COUNT; ++i) {
    if (sum[i] != ranks * ((i + step) % 100) + ranks * (ranks - 1) / 2) return 0;
  }
  return 1;
}

/* The computation, which touches neither `mine` nor `sum`: they are the collective's until that is complete.
 * Now and then it lets the collective advance; with STRETTO_PROGRESS_THREAD=1 a thread of Stretto's does
 * that, and no MPI_Test is needed. */
static void compute(MPI_Request* request) {
  for (int i = 0; i < COUNT; ++i) {
    int done;
    other[i] = other[i] / 2 + i;
    if (i % 4096 == 0) MPI_Test(request, &done, MPI_STATUS_IGNORE);
  }
}

int main(int argc, char** argv) {
  char spec[256];
  char choice[256];
  MPI_Request request;
  int right = 1;

  /* Reads a spec before MPI_Init: `spec` becomes its usual spelling, or what is wrong with it. */
  const int readable =
      stretto_parse_spec("allreduce", argc > 1 ? argv[1] : "ring:segments=4", spec, (int)sizeof spec);

  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (readable != MPI_SUCCESS) {
    if (rank == 0) fprintf(stderr, "overlap: %s\n", spec);
    MPI_Finalize();
    return 2;
  }

  /* What plain MPI_Allreduce does with such a message; "native" is the MPI library's own. */
  stretto_choice("allreduce", MPI_COMM_WORLD, sizeof sum, choice, (int)sizeof choice);
  if (rank == 0) {
    printf("Stretto %s on %d ranks: MPI_Allreduce takes %s, this program %s\n", stretto_version(), ranks,
           choice, spec);
  }

  /* Once: start, compute, wait. The spec must be the same on all ranks; NULL leaves the choice to Stretto. */
  fill(0);
  stretto_iallreduce(mine, sum, COUNT, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, spec, &request);
  compute(&request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  right = right && is_right(0);

  /* Again and again: what can be prepared is prepared once, then each step starts it. */
  stretto_allreduce_init(mine, sum, COUNT, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, spec,
                         &request);
  for (int step = 1; step <= STEPS; ++step) {
    fill(step);
    MPI_Start(&request);
    compute(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    right = right && is_right(step);
  }
  MPI_Request_free(&request);

  /* With STRETTO_STATS=FILE calls are counted; the program may read that too, while it runs. */
  char counted[4096];
  if (stretto_statistics(counted, sizeof counted) > 0 && rank == 0) fputs(counted, stdout);

  MPI_Allreduce(MPI_IN_PLACE, &right, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (rank == 0) printf("%d sums of %d doubles: %s\n", 1 + STEPS, COUNT, right ? "right" : "wrong");
  MPI_Finalize();
  return right ? 0 : 1;
}
