// SPDX-License-Identifier: Apache-2.0
// A PMPI tool that prints the thread level with which MPI was initialized.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

static const char* name_of(int level) {
  return level == MPI_THREAD_SINGLE       ? "single"
         : level == MPI_THREAD_FUNNELED   ? "funneled"
         : level == MPI_THREAD_SERIALIZED ? "serialized"
         : level == MPI_THREAD_MULTIPLE   ? "multiple"
                                          : "unknown";
}

/* What the library itself says: Stretto takes PMPI_Query_thread over. */
static int level_of_library(void) {
  Dl_info mpi;
  int level = -1;
  dladdr((void*)&PMPI_Get_version, &mpi);
  void* library = dlopen(mpi.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  int (*query)(int*) = (int (*)(int*))dlsym(library, "PMPI_Query_thread");
  query(&level);
  return level;
}

static void tell(void) {
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) printf("the tool saw %s\n", name_of(level_of_library()));
}

int MPI_Init(int* argc, char*** argv) {
  const int result = PMPI_Init(argc, argv);
  tell();
  return result;
}

int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  const int result = PMPI_Init_thread(argc, argv, required, provided);
  tell();
  return result;
}
