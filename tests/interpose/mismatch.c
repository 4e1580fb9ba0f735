// SPDX-License-Identifier: Apache-2.0
// Collectives whose arguments do not match across ranks.
//
//   mismatch FORM CASE
//
// FORM: blocking, non-blocking or persistent. In the third collective of a communicator that holds the ranks
// of MPI_COMM_WORLD in reverse order, its rank 1 differs from the others by CASE: in the collective, the
// face, the root, the operation or whether it commutes, the size of an element or the bytes, or in the length
// of a block that only two ranks know ("alltoallv", "alltoallw", "gatherv", "scatterv"); or in nothing
// ("none", "right alltoallv" and so on), and rank 0 prints "right".
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#if MPI_VERSION < 4
#include <mpi-ext.h>
#define MPI_Allreduce_init MPIX_Allreduce_init
#define MPI_Bcast_init MPIX_Bcast_init
#define MPI_Alltoallv_init MPIX_Alltoallv_init
#define MPI_Alltoallw_init MPIX_Alltoallw_init
#define MPI_Gatherv_init MPIX_Gatherv_init
#define MPI_Scatterv_init MPIX_Scatterv_init
#endif
#include <stdio.h>
#include <string.h>

enum { count = 12, ranks_at_most = 8 };

enum Face { blocking, non_blocking, persistent };

static int values[count * ranks_at_most];
static double results[count * ranks_at_most];
static MPI_Request request = MPI_REQUEST_NULL;

static void allreduce(enum Face face, int elements, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm) {
  if (face == blocking) MPI_Allreduce(values, results, elements, datatype, op, comm);
  if (face == non_blocking) MPI_Iallreduce(values, results, elements, datatype, op, comm, &request);
  if (face == persistent) {
    MPI_Allreduce_init(values, results, elements, datatype, op, comm, MPI_INFO_NULL, &request);
  }
}

static void bcast(enum Face face, int elements, int root, MPI_Comm comm) {
  if (face == blocking) MPI_Bcast(values, elements, MPI_INT, root, comm);
  if (face == non_blocking) MPI_Ibcast(values, elements, MPI_INT, root, comm, &request);
  if (face == persistent) MPI_Bcast_init(values, elements, MPI_INT, root, comm, MPI_INFO_NULL, &request);
}

#define IN_FORM(face, Name, Iname, ...)                                              \
  do {                                                                               \
    if (face == blocking) MPI_##Name(__VA_ARGS__);                                   \
    if (face == non_blocking) MPI_##Iname(__VA_ARGS__, &request);                    \
    if (face == persistent) MPI_##Name##_init(__VA_ARGS__, MPI_INFO_NULL, &request); \
  } while (0)

// For the rank that differs, what it exchanges with rank 0 is one element shorter.
static void move_blocks(enum Face face, const char* what, int ranks, int differs, MPI_Comm comm) {
  static int counts[ranks_at_most];
  static int places[ranks_at_most];
  static int bytes[ranks_at_most];
  static MPI_Datatype types[ranks_at_most];
  for (int i = 0; i < ranks; ++i) {
    counts[i] = count - (differs && i == 0 ? 1 : 0);
    places[i] = i * count;
    bytes[i] = places[i] * (int)sizeof(int);
    types[i] = MPI_INT;
  }
  int* out = (int*)results;
  if (strcmp(what, "alltoallv") == 0) {
    IN_FORM(face, Alltoallv, Ialltoallv, values, counts, places, MPI_INT, out, counts, places, MPI_INT, comm);
  } else if (strcmp(what, "alltoallw") == 0) {
    IN_FORM(face, Alltoallw, Ialltoallw, values, counts, bytes, types, out, counts, bytes, types, comm);
  } else if (strcmp(what, "gatherv") == 0) {
    IN_FORM(face, Gatherv, Igatherv, values, counts[0], MPI_INT, out, counts, places, MPI_INT, 0, comm);
  } else {
    IN_FORM(face, Scatterv, Iscatterv, values, counts, places, MPI_INT, out, counts[0], MPI_INT, 0, comm);
  }
}

static void add(void* in, void* inout, int* length, MPI_Datatype* datatype) {
  (void)datatype;
  for (int i = 0; i < *length; ++i) ((int*)inout)[i] += ((const int*)in)[i];
}

static void wait(enum Face face) {
  if (face == persistent) MPI_Start(&request);
  if (face != blocking) MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (face == persistent) MPI_Request_free(&request);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm comm;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comm);
  MPI_Comm_rank(comm, &rank);

  const char* form = argv[1];
  const enum Face face = strcmp(form, "blocking") == 0       ? blocking
                         : strcmp(form, "non-blocking") == 0 ? non_blocking
                                                             : persistent;
  for (int i = 0; i < 2; ++i) {
    allreduce(face, count, MPI_INT, MPI_SUM, comm);
    wait(face);
  }
  const char* what = argv[2];
  const char* matching = strncmp(what, "right ", 6) == 0 ? what + 6 : NULL;
  const int differs = rank == 1;
  int ranks = 0;
  MPI_Comm_size(comm, &ranks);
  enum Face its_face = face;
  if (strcmp(what, "collective") == 0 && differs) {
    bcast(face, count, 0, comm);
  } else if (strcmp(what, "face") == 0) {
    if (differs) its_face = face == blocking ? non_blocking : blocking;
    allreduce(its_face, count, MPI_INT, MPI_SUM, comm);
  } else if (strcmp(what, "root") == 0) {
    bcast(face, count, differs ? 2 : 0, comm);
  } else if (strcmp(what, "operation") == 0) {
    allreduce(face, count, MPI_INT, differs ? MPI_MAX : MPI_SUM, comm);
  } else if (strcmp(what, "commutes") == 0) {
    // Looked up, since a program that refers to it is not given other threads.
    int (*make)(MPI_User_function*, int, MPI_Op*) =
        (int (*)(MPI_User_function*, int, MPI_Op*))dlsym(RTLD_DEFAULT, "MPI_Op_create");
    MPI_Op op;
    make(add, !differs, &op);
    allreduce(face, count, MPI_INT, op, comm);
  } else if (strcmp(what, "element") == 0) {
    allreduce(face, differs ? count / 2 : count, differs ? MPI_DOUBLE : MPI_INT, MPI_SUM, comm);
  } else if (strcmp(what, "bytes") == 0) {
    allreduce(face, differs ? count - 1 : count, MPI_INT, MPI_SUM, comm);
  } else if (strcmp(what, "bytes of a broadcast") == 0) {
    bcast(face, differs ? count - 1 : count, 0, comm);
  } else if (matching != NULL) {
    move_blocks(face, matching, ranks, 0, comm);
  } else if (strncmp(what, "alltoall", 8) == 0 || strstr(what, "erv") != NULL) {
    move_blocks(face, what, ranks, differs, comm);
  } else {
    allreduce(face, count, MPI_INT, MPI_SUM, comm);
  }
  wait(its_face);
  MPI_Barrier(comm);
  if (rank == 0) printf("right\n");
  MPI_Comm_free(&comm);
  MPI_Finalize();
  return 0;
}
