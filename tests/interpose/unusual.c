// SPDX-License-Identifier: Apache-2.0
// What MPI allows and few programs do: ranks that make their calls in another order than others, and
// collectives whose ranks describe the same data by different datatypes. Rank 0 prints "right" when all is.
//
//   unusual order | datatypes
//
// By Open MPI 4.1.4 itself `datatypes` hangs: its broadcasts cut a message by the datatype of each rank.
#include <mpi.h>
#if MPI_VERSION < 4
#include <mpi-ext.h>
#define MPI_Allreduce_init MPIX_Allreduce_init
#define MPI_Bcast_init MPIX_Bcast_init
#endif
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { count = 24, ranks_at_most = 8, tag = 5 };

static int rank;
static int ranks;

#define CHECK(condition)                                                                           \
  do {                                                                                             \
    if (!(condition)) {                                                                            \
      fprintf(stderr, "%s:%d: rank %d: %s does not hold\n", __FILE__, __LINE__, rank, #condition); \
      MPI_Abort(MPI_COMM_WORLD, 1);                                                                \
      exit(1);                                                                                     \
    }                                                                                              \
  } while (0)

static void fill(int* data, int elements, int seed) {
  for (int i = 0; i < elements; ++i) data[i] = seed * 1000 + i;
}

static int is_sum(const int* data) {
  for (int i = 0; i < count; ++i) {
    if (data[i] != 1000 * ranks * (ranks - 1) / 2 + ranks * i) return 0;
  }
  return 1;
}

static int is_filled(const int* data, int elements, int seed) {
  for (int i = 0; i < elements; ++i) {
    if (data[i] != seed * 1000 + i) return 0;
  }
  return 1;
}

// Starting a non-blocking collective waits for nobody: rank r + 1 starts it only when rank r has, and has
// told it so.
static void one_rank_after_the_other(MPI_Comm comm) {
  int in[count];
  int out[count];
  int token = 0;
  MPI_Request request;
  fill(in, count, rank);
  if (rank > 0) MPI_Recv(&token, 1, MPI_INT, rank - 1, tag, comm, MPI_STATUS_IGNORE);
  MPI_Iallreduce(in, out, count, MPI_INT, MPI_SUM, comm, &request);
  if (rank + 1 < ranks) MPI_Send(&token, 1, MPI_INT, rank + 1, tag, comm);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(is_sum(out));
}

// Each of two communicators has its own order, from the first call on.
static void two_communicators(void) {
  MPI_Comm first;
  MPI_Comm second;
  MPI_Comm_dup(MPI_COMM_WORLD, &first);
  MPI_Comm_dup(MPI_COMM_WORLD, &second);
  int in[count];
  int sums[count];
  int data[count];
  MPI_Request requests[2];
  fill(in, count, rank);
  fill(data, count, rank == 1 ? 77 : 0);
  for (int turn = 0; turn < 2; ++turn) {
    if ((rank + turn) % 2 == 0) {
      MPI_Ibcast(data, count, MPI_INT, 1, first, &requests[0]);
    } else {
      MPI_Iallreduce(in, sums, count, MPI_INT, MPI_SUM, second, &requests[1]);
    }
  }
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  CHECK(is_sum(sums));
  CHECK(is_filled(data, count, 77));

  // A blocking call on one of them, before or after a non-blocking one has been started on the other.
  int more[count];
  if (rank % 2 == 0) MPI_Iallreduce(in, sums, count, MPI_INT, MPI_SUM, first, &requests[0]);
  MPI_Allreduce(in, more, count, MPI_INT, MPI_SUM, second);
  if (rank % 2 != 0) MPI_Iallreduce(in, sums, count, MPI_INT, MPI_SUM, first, &requests[0]);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  CHECK(is_sum(sums) && is_sum(more));
  MPI_Comm_free(&first);
  MPI_Comm_free(&second);
}

// Persistent collectives are made in one order, and started in any.
static void persistent_ones(MPI_Comm comm) {
  enum { calls = 3 };
  int in[count];
  int out[calls][count];
  MPI_Request requests[calls];
  fill(in, count, rank);
  for (int i = 0; i < calls; ++i) {
    MPI_Allreduce_init(in, out[i], count, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &requests[i]);
  }
  for (int turn = 0; turn < 4; ++turn) {
    memset(out, 0, sizeof out);
    for (int i = 0; i < calls; ++i) MPI_Start(&requests[(i + rank + turn) % calls]);
    MPI_Waitall(calls, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < calls; ++i) CHECK(is_sum(out[i]));
  }
  for (int i = 0; i < calls; ++i) MPI_Request_free(&requests[i]);
}

// `count` of MPI_INT, described differently on each rank, and how many of that type.
static MPI_Datatype describe(int which, int* elements) {
  MPI_Datatype made;
  if (which % 3 == 0) {
    MPI_Type_contiguous(1, MPI_INT, &made);
    *elements = count;
  } else if (which % 3 == 1) {
    MPI_Type_vector(count / 4, 2, 2, MPI_INT, &made);
    *elements = 2;
  } else {
    const int lengths[2] = {1, count / 3 - 1};
    const MPI_Aint places[2] = {0, sizeof(int)};
    const MPI_Datatype types[2] = {MPI_INT, MPI_INT};
    MPI_Type_create_struct(2, lengths, places, types, &made);
    *elements = 3;
  }
  MPI_Type_commit(&made);
  return made;
}

static void different_datatypes(MPI_Comm comm) {
  int data[count];
  int elements = 0;
  MPI_Request request;
  MPI_Datatype described = describe(rank, &elements);
  for (int root = 0; root < ranks; ++root) {
    fill(data, count, rank == root ? 500 + root : 0);
    MPI_Bcast(data, elements, described, root, comm);
    CHECK(is_filled(data, count, 500 + root));
    fill(data, count, rank == root ? 600 + root : 0);
    MPI_Ibcast(data, elements, described, root, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(is_filled(data, count, 600 + root));
  }
  // Types of two sorts of elements.
  struct pair {
    int number;
    double real;
  } pairs[4] = {{0, 0}};
  const int lengths[2] = {1, 1};
  const MPI_Aint places[2] = {offsetof(struct pair, number), offsetof(struct pair, real)};
  const MPI_Datatype types[2] = {MPI_INT, MPI_DOUBLE};
  MPI_Datatype of_pair;
  MPI_Datatype of_pairs;
  MPI_Type_create_struct(2, lengths, places, types, &of_pair);
  MPI_Type_contiguous(4, of_pair, &of_pairs);
  MPI_Type_commit(&of_pair);
  MPI_Type_commit(&of_pairs);
  for (int i = 0; rank == 0 && i < 4; ++i) pairs[i] = (struct pair){i, i + 0.5};
  MPI_Bcast(pairs, rank == 0 ? 1 : 4, rank == 0 ? of_pairs : of_pair, 0, comm);
  for (int i = 0; i < 4; ++i) CHECK(pairs[i].number == i && pairs[i].real == i + 0.5);

  int all[count * ranks_at_most];
  fill(data, count, rank);
  int other_elements = 0;
  MPI_Datatype other = describe(rank + 1, &other_elements);
  for (int form = 0; form < 2; ++form) {
    memset(all, 0, sizeof all);
    if (form == 0) {
      MPI_Allgather(data, elements, described, all, other_elements, other, comm);
    } else {
      MPI_Iallgather(data, elements, described, all, other_elements, other, comm, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    for (int from = 0; from < ranks; ++from) CHECK(is_filled(all + from * count, count, from));
  }
  MPI_Type_free(&described);
  MPI_Type_free(&other);
  MPI_Type_free(&of_pair);
  MPI_Type_free(&of_pairs);
}

// What is significant on one rank only may be anything on the others.
static void arguments_of_one_rank(MPI_Comm comm) {
  int in[count];
  int out[count];
  fill(in, count, rank);
  for (int root = 0; root < ranks; ++root) {
    if (rank == root) memcpy(out, in, sizeof in);
    MPI_Reduce(rank == root ? MPI_IN_PLACE : in, rank == root ? out : NULL, count, MPI_INT, MPI_SUM, root,
               comm);
    if (rank == root) CHECK(is_sum(out));
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  for (int turn = 0; turn < 3; ++turn) {
    if (strcmp(argv[1], "datatypes") == 0) {
      different_datatypes(comm);
      continue;
    }
    one_rank_after_the_other(comm);
    two_communicators();
    persistent_ones(comm);
    arguments_of_one_rank(comm);
  }
  MPI_Comm_free(&comm);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) printf("right\n");
  MPI_Finalize();
  return 0;
}
