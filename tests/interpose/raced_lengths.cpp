// SPDX-License-Identifier: Apache-2.0
// Blocking calls whose lengths only two ranks know, again and again, so that races decide about them several
// times: short and long ones, empty ones, on two communicators by turns, and on ranks that send nothing at
// all.
#include <vector>

#include "check.hpp"

namespace {

/// How many elements `from` sends to `to` in a call.
int length(int call, int from, int to) {
  if (call % 7 == 3 || from == call % 5) return 0;
  const int unit = call % 3 == 0 ? 300 : 3;
  return unit * ((5 * from + 3 * to + call) % 4);
}

int value(int call, int from, int to) {
  return 10000 * call + 100 * from + to;
}

void exchange(int call, MPI_Comm comm, bool by_types) {
  const int ranks = size_of(comm);
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  std::vector<int> sent_counts;
  std::vector<int> sent_begins;
  std::vector<int> counts;
  std::vector<int> begins;
  std::vector<int> sent;
  std::vector<int> expected;
  for (int other = 0; other < ranks; ++other) {
    sent_begins.push_back(static_cast<int>(sent.size()));
    sent_counts.push_back(length(call, rank, other));
    sent.insert(sent.end(), static_cast<std::size_t>(sent_counts.back()), value(call, rank, other));
    begins.push_back(static_cast<int>(expected.size()));
    counts.push_back(length(call, other, rank));
    expected.insert(expected.end(), static_cast<std::size_t>(counts.back()), value(call, other, rank));
  }
  std::vector<int> received(expected.size(), -1);
  if (by_types) {
    const std::vector<MPI_Datatype> types(counts.size(), MPI_INT);
    for (int& begin : begins) begin *= static_cast<int>(sizeof(int));
    for (int& begin : sent_begins) begin *= static_cast<int>(sizeof(int));
    CHECK(MPI_Alltoallw(sent.data(), sent_counts.data(), sent_begins.data(), types.data(), received.data(),
                        counts.data(), begins.data(), types.data(), comm) == MPI_SUCCESS);
  } else {
    CHECK(MPI_Alltoallv(sent.data(), sent_counts.data(), sent_begins.data(), MPI_INT, received.data(),
                        counts.data(), begins.data(), MPI_INT, comm) == MPI_SUCCESS);
  }
  CHECK(received == expected, "call " + std::to_string(call));
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm reversed{};
  MPI_Comm_split(MPI_COMM_WORLD, 0, -world_rank(), &reversed);
  MPI_Comm alone{};
  MPI_Comm_split(MPI_COMM_WORLD, world_rank(), 0, &alone);
  for (int call = 0; call < 600; ++call) {
    exchange(call, MPI_COMM_WORLD, call % 4 == 1);
    if (call % 2 == 0) exchange(call, reversed, false);
    if (call % 50 == 0) exchange(call, alone, false);
    if (call % 100 == 0) MPI_Barrier(MPI_COMM_WORLD);
  }
  for (MPI_Comm* comm : {&reversed, &alone}) MPI_Comm_free(comm);
  if (world_rank() == 0) std::puts("right");
  MPI_Finalize();
}
