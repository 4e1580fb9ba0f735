/* SPDX-License-Identifier: Apache-2.0 */
/* A program that is not linked with MPI: it opens the library (the first argument) and looks each function up
 * in it, as ctypes, numba-mpi and Julia do. The second argument says how it is opened: local, global or
 * deepbind. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void* library;

static void* find(const char* name) {
  void* found = dlsym(library, name);
  if (found == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    exit(1);
  }
  return found;
}

/* Calls the function of the library that has the type of the one that mpi.h declares. */
#define CALL(name) ((__typeof__(&name))find(#name))

/* Open MPI's handles are addresses of variables, the others' are numbers. */
#ifdef OPEN_MPI
#define HANDLE(type, name, variable) ((type)find(variable))
#else
#define HANDLE(type, name, variable) (name)
#endif

int main(int argc, char** argv) {
  int flags = RTLD_NOW;
  if (argc < 3) return 2;
  flags |= strcmp(argv[2], "global") == 0 ? RTLD_GLOBAL : RTLD_LOCAL;
  if (strcmp(argv[2], "deepbind") == 0) flags |= RTLD_DEEPBIND;
  library = dlopen(argv[1], flags);
  if (library == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  CALL(MPI_Init)(&argc, &argv);
  MPI_Comm world = HANDLE(MPI_Comm, MPI_COMM_WORLD, "ompi_mpi_comm_world");
  MPI_Datatype type = HANDLE(MPI_Datatype, MPI_INT, "ompi_mpi_int");
  MPI_Op sum = HANDLE(MPI_Op, MPI_SUM, "ompi_mpi_op_sum");
  int rank = 0;
  int ranks = 0;
  CALL(MPI_Comm_rank)(world, &rank);
  CALL(MPI_Comm_size)(world, &ranks);
  enum { count = 10000 };
  static int in[count];
  static int out[count];
  static int late[count];
  for (int i = 0; i < count; ++i) in[i] = rank + i;
  CALL(PMPI_Allreduce)(in, out, count, type, sum, world);
  MPI_Request request;
  CALL(MPI_Iallreduce)(in, late, count, type, sum, world, &request);
  CALL(MPI_Wait)(&request, MPI_STATUS_IGNORE);
  CALL(MPI_Bcast)(out, count, type, 0, world);
  for (int i = 0; i < count; ++i) {
    if (out[i] != late[i] || out[i] != ranks * i + ranks * (ranks - 1) / 2) {
      fprintf(stderr, "wrong: %d at %d\n", out[i], i);
      return 1;
    }
  }
  CALL(MPI_Finalize)();
  if (rank == 0) puts("right");
  return 0;
}
