// SPDX-License-Identifier: Apache-2.0
// A program that may run without Stretto on some ranks. Its receives must not get what MPI_Init of the
// others sends, and its collectives must be right. Rank 0 prints "right" if all is.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { most_ranks = 16, tag = 7, elements = 5000 };

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

static void meet_everybody(void) {
  MPI_Request requests[2 * most_ranks];
  MPI_Status statuses[2 * most_ranks];
  int arrived[most_ranks] = {0};
  int count = 0;
  // Matches any message.
  for (int i = 1; i < ranks; ++i) {
    MPI_Irecv(&arrived[count], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[count]);
    ++count;
  }
  const int received = count;
  for (int to = 0; to < ranks; ++to) {
    if (to != rank) MPI_Isend(&rank, 1, MPI_INT, to, tag, MPI_COMM_WORLD, &requests[count++]);
  }
  MPI_Waitall(count, requests, statuses);
  for (int i = 0; i < received; ++i) {
    CHECK(statuses[i].MPI_TAG == tag);
    CHECK(arrived[i] == statuses[i].MPI_SOURCE);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  meet_everybody();

  static int data[elements];
  for (int root = 0; root < ranks; ++root) {
    for (int i = 0; i < elements; ++i) data[i] = rank == root ? root + i : -1;
    MPI_Bcast(data, elements, MPI_INT, root, MPI_COMM_WORLD);
    for (int i = 0; i < elements; ++i) CHECK(data[i] == root + i);
  }
  for (int blocking = 0; blocking < 2; ++blocking) {
    int sum = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    if (blocking) {
      MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    } else {
      MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    CHECK(sum == ranks * (ranks - 1) / 2);
  }
  MPI_Comm copy = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  MPI_Comm_free(&copy);

  int arrived = 0;
  MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &arrived, MPI_STATUS_IGNORE);
  CHECK(!arrived);
  if (rank == 0) puts("right");
  MPI_Finalize();
  return 0;
}
