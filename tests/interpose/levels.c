// SPDX-License-Identifier: Apache-2.0
// Which thread level a program sees. It requests the level that its argument names ("none": MPI_Init), and
// prints on rank 0 what it got. With -DNON_BLOCKING it refers to a non-blocking collective, otherwise to
// none. With -DWINDOW it makes a window, with -DOPERATION an operation of its own.
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static const char* const names[] = {"single", "funneled", "serialized", "multiple"};
static const int levels[] = {MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED,
                             MPI_THREAD_MULTIPLE};

static const char* name_of(int level) {
  for (int i = 0; i < 4; ++i) {
    if (levels[i] == level) return names[i];
  }
  return "unknown";
}

#ifdef OPERATION
static void add(void* in, void* inout, int* length, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *length; ++i) ((int*)inout)[i] += ((int*)in)[i];
}
#endif

int main(int argc, char** argv) {
  const char* asked = argv[1];
  int provided = -1;
  int queried = -1;
  int rank = 0;
  int one = 1;
  int sum = 0;
  if (strcmp(asked, "none") == 0) {
    MPI_Init(&argc, &argv);
  } else {
    int level = 0;
    while (strcmp(asked, names[level]) != 0) ++level;
    MPI_Init_thread(&argc, &argv, levels[level], &provided);
  }
  MPI_Query_thread(&queried);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
#ifdef NON_BLOCKING
  MPI_Request request;
  MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
#else
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
#endif
#ifdef OPERATION
  MPI_Op op;
  MPI_Op_create(&add, 1, &op);
  MPI_Op_free(&op);
#endif
#ifdef WINDOW
  int* memory;
  MPI_Win window;
  MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
  MPI_Win_free(&window);
#endif
  if (rank == 0) printf("provided %s\nqueried %s\nright\n", name_of(provided), name_of(queried));
  MPI_Finalize();
  return sum > 1 ? 0 : 1;
}
