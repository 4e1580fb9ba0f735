/* SPDX-License-Identifier: Apache-2.0 */
/* Stretto's C interface: a sum that proceeds while the program computes. First by stretto_iallreduce, then
 * repeatedly by one persistent request. Build it as examples/CMakeLists.txt says; then
 *
 *     mpirun -np 2 ./overlap [SPEC]        as in ./overlap recursive_doubling:segments=2
 */
#include <mpi.h>
#include <stdio.h>
#include <stretto/stretto.h>

enum { COUNT = 1 << 18, STEPS = 3 }; /* 2 MiB of doubles */

static double mine[COUNT], sum[COUNT], other[COUNT];
static int rank, ranks;

/* The input of each rank, and the check of the sum. Small integers, so that any order of additions gives the
 * same result. */
static void fill(int step) {
  for (int i = 0; i < COUNT; ++i) mine[i] = (i + step) % 100 + rank;
}

static int is_right(int step) {
  for (int i = 0; i < COUNT; ++i) {
    if (sum[i] != ranks * ((i + step) % 100) + ranks * (ranks - 1) / 2) return 0;
  }
  return 1;
}

/* The computation. It touches neither `mine` nor `sum`, which belong to the collective until it is complete.
 * MPI_Test lets the collective advance now and then. With STRETTO_PROGRESS_THREAD=1 a thread of Stretto does
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

  /* Reads a spec before MPI_Init. `spec` becomes its usual spelling, or the error. */
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

  /* What plain MPI_Allreduce would use for this message; "native" is the MPI default. */
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

  /* Repeatedly: the request is prepared once, and each step starts it. */
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

  /* With STRETTO_STATS=FILE calls are counted. The program may read the counts while it runs. */
  char counted[4096];
  if (stretto_statistics(counted, sizeof counted) > 0 && rank == 0) fputs(counted, stdout);

  MPI_Allreduce(MPI_IN_PLACE, &right, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (rank == 0) printf("%d sums of %d doubles: %s\n", 1 + STEPS, COUNT, right ? "right" : "wrong");
  MPI_Finalize();
  return right ? 0 : 1;
}
