// SPDX-License-Identifier: Apache-2.0
// Fault tolerance of Open MPI 5 (--with-ft ulfm). "death": a rank dies; "leave": a rank leaves without the
// others' collective. A rank that gets an error revokes the communicator, and the remaining ones go on with
// a shrunk one. Each of them prints "right".
#include <mpi.h>

// Needs a declaration of mpi.h.
#include <mpi-ext.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { count = 20000 };
static double in[count];
static double out[count];

static int sum(MPI_Comm comm) {
  return MPI_Allreduce(in, out, count, MPI_DOUBLE, MPI_SUM, comm);
}

int main(int argc, char** argv) {
  int rank = 0;
  int ranks = 0;
  MPI_Comm comm;
  MPI_Comm left;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  for (int i = 0; i < count; ++i) in[i] = 1;
  if (sum(comm) != MPI_SUCCESS || out[0] != ranks) return 1;
  const int dies = strcmp(argv[1], "death") == 0;
  int error = MPI_SUCCESS;
  if (rank == ranks - 1) {
    if (dies) raise(SIGKILL);
    usleep(200000);  // until the others wait for this one
  } else {
    for (int i = 0; i < 10 && error == MPI_SUCCESS; ++i) error = sum(comm);
    if (error == MPI_SUCCESS) return 2;
    int class = 0;
    MPI_Error_class(error, &class);
    if (!dies && class != MPIX_ERR_REVOKED) return 3;
  }
  MPIX_Comm_revoke(comm);
  if (MPIX_Comm_shrink(comm, &left) != MPI_SUCCESS) return 4;
  MPI_Comm_free(&comm);
  if (sum(left) != MPI_SUCCESS || out[count - 1] != ranks - dies) return 5;
  MPI_Comm_free(&left);
  printf("right\n");
  fflush(stdout);
  // If a rank is missing, Open MPI 5.0.11 does not return from MPI_Finalize.
  if (dies) _exit(0);
  MPI_Finalize();
  return 0;
}
