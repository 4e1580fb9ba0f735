// SPDX-License-Identifier: Apache-2.0
// Stretto's messages and the program's never match, whatever wildcards, tags and unexpected messages there
// are.
#include <numeric>
#include <vector>

#include "check.hpp"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm comm{};
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  const int rank = rank_in(comm);
  const int ranks = size_of(comm);
  const int next = (rank + 1) % ranks;
  const int previous = (rank + ranks - 1) % ranks;
  constexpr int tags = 12;  // some are those of Stretto's segments
  constexpr int length = 50;

  for (const int count : {1, 50, 20000}) {
    // Receives of any message, pending all the time.
    std::vector<std::vector<int>> got(tags, std::vector<int>(length, -1));
    std::vector<MPI_Request> receives(tags);
    for (std::size_t i = 0; i < tags; ++i) {
      MPI_Irecv(got[i].data(), length, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &receives[i]);
    }
    for (int turn = 0; turn < 4; ++turn) CHECK(sums_right(comm, count));
    int done = 0;
    MPI_Testall(tags, receives.data(), &done, MPI_STATUSES_IGNORE);
    CHECK(done == 0);
    for (std::size_t i = 0; i < tags; ++i) {
      MPI_Test(&receives[i], &done, MPI_STATUS_IGNORE);
      CHECK(done == 0 && got[i][0] == -1);
    }
    // A probe must not see anything either: nobody has sent yet.
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &done, MPI_STATUS_IGNORE);
    CHECK(done == 0);
    MPI_Barrier(comm);
    std::vector<int> message(length);
    for (int tag = 0; tag < tags; ++tag) {
      std::iota(message.begin(), message.end(), 1000 * rank + tag);
      MPI_Send(message.data(), length, MPI_INT, next, tag, comm);
    }
    // The last messages may still be in flight.
    CHECK(sums_right(comm, count));
    MPI_Waitall(tags, receives.data(), MPI_STATUSES_IGNORE);
    for (int tag = 0; tag < tags; ++tag)
      CHECK(got[static_cast<std::size_t>(tag)][0] == 1000 * previous + tag);

    MPI_Barrier(comm);

    // Unexpected messages of the program, for which no receive is posted yet.
    for (int tag = 0; tag < tags; ++tag) {
      MPI_Send(&rank, 1, MPI_INT, next, tag, comm);
      MPI_Send(&rank, 1, MPI_INT, previous, tag, comm);
    }
    CHECK(sums_right(comm, count));
    for (int tag = 0; tag < tags; ++tag) {
      for (const int source : {previous, next}) {
        int from = -1;
        MPI_Recv(&from, 1, MPI_INT, source, tag, comm, MPI_STATUS_IGNORE);
        CHECK(from == source);
      }
    }
    // A collective of the program that is pending while Stretto's run.
    MPI_Request barrier{};
    const int one = 1;
    int sum = 0;
    MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm, &barrier);
    CHECK(sums_right(comm, count));
    MPI_Wait(&barrier, MPI_STATUS_IGNORE);
    CHECK(sum == ranks);
  }
  MPI_Comm_free(&comm);
  MPI_Finalize();
}
