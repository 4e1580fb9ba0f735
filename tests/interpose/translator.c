/* SPDX-License-Identifier: Apache-2.0 */
/* An MPI library with a binary interface of its own, which calls another one, as MPItrampoline does. It is
 * compiled three times: as the library that a program is linked with (-DLIBRARY), as the wrapper that this
 * library opens for itself (-DWRAPPER, by the compiler of the MPI library that does the work), and as the
 * program. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#if defined(WRAPPER)

#include <mpi.h>

int wrapped_init(void) {
  return MPI_Init(NULL, NULL);
}
int wrapped_finalize(void) {
  return MPI_Finalize();
}
int wrapped_rank(int* rank) {
  return MPI_Comm_rank(MPI_COMM_WORLD, rank);
}
int wrapped_sum(const void* in, void* out, int count) {
  return MPI_Allreduce(in, out, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

#else

/* Handles that would end a process if another library took them. */
typedef struct Handle* Handle;
#define WORLD ((Handle)1)
#define INT ((Handle)2)
#define SUM ((Handle)3)

int MPI_Init(int* argc, char*** argv);
int MPI_Finalize(void);
int MPI_Comm_rank(Handle comm, int* rank);
int MPI_Allreduce(const void* in, void* out, int count, Handle type, Handle operation, Handle comm);

#if defined(LIBRARY)

static void* wrapper;

__attribute__((constructor)) static void open_wrapper(void) {
  wrapper = dlopen(getenv("TRANSLATOR_WRAPPER"), RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
  if (wrapper == NULL) fprintf(stderr, "%s\n", dlerror());
}

int MPI_Init(int* argc, char*** argv) {
  (void)argc;
  (void)argv;
  return ((int (*)(void))dlsym(wrapper, "wrapped_init"))();
}
int MPI_Finalize(void) {
  return ((int (*)(void))dlsym(wrapper, "wrapped_finalize"))();
}
int MPI_Comm_rank(Handle comm, int* rank) {
  return comm == WORLD ? ((int (*)(int*))dlsym(wrapper, "wrapped_rank"))(rank) : 1;
}
int MPI_Allreduce(const void* in, void* out, int count, Handle type, Handle operation, Handle comm) {
  if (type != INT || operation != SUM || comm != WORLD) return 1;
  return ((int (*)(const void*, void*, int))dlsym(wrapper, "wrapped_sum"))(in, out, count);
}
int PMPI_Init(int* argc, char*** argv) {
  return MPI_Init(argc, argv);
}

#else

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  enum { count = 10000 };
  static int in[count];
  static int out[count];
  for (int i = 0; i < count; ++i) in[i] = i;
  int failed = 0;
  for (int repetition = 0; repetition < 3; ++repetition)
    failed |= MPI_Allreduce(in, out, count, INT, SUM, WORLD);
  int rank = 0;
  MPI_Comm_rank(WORLD, &rank);
  MPI_Finalize();
  if (failed || out[7] != 2 * 7) return 1;
  if (rank == 0) puts("right");
  return 0;
}

#endif
#endif
