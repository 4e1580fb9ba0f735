// SPDX-License-Identifier: Apache-2.0
// Stretto's messages and the program's never match, whatever wildcards, tags and unexpected messages there
// are.
#include <numeric>
#include <vector>

#include "check.hpp"
#include "each.hpp"

namespace {

struct Located {
  double value;
  int at;
};

/// Calls whose elements have gaps, or that do not use a buffer's address, are copied inside a rank by
/// messages. These messages must not match a receive on MPI_COMM_SELF, by which programs wake a thread.
void leave_receives_of_self(MPI_Comm comm) {
  const int rank = rank_in(comm);
  const int ranks = size_of(comm);
  int woken = -1;
  MPI_Request wake{};
  MPI_Irecv(&woken, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &wake);
  for (const std::size_t count : {1U, 50U, 20000U}) {
    const int elements = static_cast<int>(count);
    std::vector<Located> mine(count);
    std::vector<Located> greatest(count);
    for (std::size_t i = 0; i < count; ++i) mine[i] = {static_cast<double>((rank + elements) % ranks), rank};
    MPI_Allreduce(mine.data(), greatest.data(), elements, MPI_DOUBLE_INT, MPI_MAXLOC, comm);
    for (const Located& one : greatest)
      CHECK(one.value == ranks - 1 && (one.at + elements) % ranks == one.value);
    MPI_Allreduce(MPI_IN_PLACE, mine.data(), elements, MPI_DOUBLE_INT, MPI_MINLOC, comm);
    for (const Located& one : mine) CHECK(one.value == 0 && (one.at + elements) % ranks == 0);

    std::vector<int> sent(count, rank);
    MPI_Aint address = 0;
    MPI_Datatype absolute{};
    MPI_Get_address(sent.data(), &address);
    MPI_Type_create_hindexed(1, &elements, &address, MPI_INT, &absolute);
    MPI_Type_commit(&absolute);
    MPI_Bcast(MPI_BOTTOM, 1, absolute, ranks - 1, comm);
    for (const int one : sent) CHECK(one == ranks - 1);
    MPI_Type_free(&absolute);
  }
  int done = 0;
  MPI_Test(&wake, &done, MPI_STATUS_IGNORE);
  CHECK(done == 0);
  const int go = 1;
  MPI_Send(&go, 1, MPI_INT, 0, 5, MPI_COMM_SELF);
  MPI_Wait(&wake, MPI_STATUS_IGNORE);
  CHECK(woken == go);
}

void run_all() {
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
    // A probe must not see a message either, since no rank has sent one yet.
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
  leave_receives_of_self(comm);
  MPI_Comm_free(&comm);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  under_each_spec(argc, argv, run_all);
  MPI_Finalize();
}
