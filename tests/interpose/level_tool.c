// SPDX-License-Identifier: Apache-2.0
// Somebody else's PMPI tool: it tells by which function and for which level of threads MPI is initialized.
#include <mpi.h>
#include <stdio.h>

static const char* name_of(int level) {
  return level == MPI_THREAD_SINGLE       ? "single"
         : level == MPI_THREAD_FUNNELED   ? "funneled"
         : level == MPI_THREAD_SERIALIZED ? "serialized"
         : level == MPI_THREAD_MULTIPLE   ? "multiple"
                                          : "unknown";
}

static void tell(const char* what) {
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) printf("the tool saw %s\n", what);
}

int MPI_Init(int* argc, char*** argv) {
  const int result = PMPI_Init(argc, argv);
  tell("none");
  return result;
}

int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  const int result = PMPI_Init_thread(argc, argv, required, provided);
  tell(name_of(required));
  return result;
}
