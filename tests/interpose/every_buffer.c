// SPDX-License-Identifier: Apache-2.0
// Collectives on buffers on the stack, in the heap (by brk and by mmap), in static memory and in a mapping:
// some kinds are asked about drivers of devices, some are not. Prints "right".
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { few = 64, many = 1 << 17 };

static int of_file[few];

static void check(int holds, const char* what, const char* where) {
  if (holds) return;
  fprintf(stderr, "%s of a buffer in %s is wrong\n", what, where);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void use(int* buffer, int count, const char* where) {
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);

  for (int i = 0; i < count; ++i) buffer[i] = i + rank;
  MPI_Allreduce(MPI_IN_PLACE, buffer, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  for (int i = 0; i < count; ++i)
    check(buffer[i] == ranks * i + ranks * (ranks - 1) / 2, "an allreduce", where);

  for (int i = 0; i < count; ++i) buffer[i] = rank == 0 ? 3 * i : -1;
  MPI_Bcast(buffer, count, MPI_INT, 0, MPI_COMM_WORLD);
  for (int i = 0; i < count; ++i) check(buffer[i] == 3 * i, "a broadcast", where);

  MPI_Request request;
  for (int i = 0; i < count; ++i) buffer[i] = i + rank;
  MPI_Iallreduce(MPI_IN_PLACE, buffer, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  for (int i = 0; i < count; ++i)
    check(buffer[i] == ranks * i + ranks * (ranks - 1) / 2, "a non-blocking allreduce", where);
  MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int of_stack[few];
  int* small = malloc(few * sizeof(int));
  int* large = malloc(many * sizeof(int));
  int* mapped = mmap(NULL, many * sizeof(int), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  use(of_stack, few, "the stack");
  use(of_file, few, "static memory");
  use(small, few, "the heap");
  use(large, many, "the heap, mapped");
  use(mapped, many, "a mapping");
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) puts("right");
  MPI_Finalize();
  return 0;
}
