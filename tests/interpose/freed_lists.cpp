// SPDX-License-Identifier: Apache-2.0
// A communicator is freed while a collective and messages on it are in flight, and its requests are completed
// by each function in turn. MPICH then deletes the communicator when the last request ends, in the middle of
// its progress.
#include <array>
#include <string>

#include "check.hpp"

namespace {

constexpr int count = 10;
using Requests = std::array<MPI_Request, 3>;
using Numbers = std::array<double, count>;

/// Starts a collective, in any form and of any kind, that leaves the sum over all ranks in the last number.
void start(int kind, const Numbers& in, Numbers& out, MPI_Comm comm, MPI_Request* request) {
  switch (kind) {
    case 0:
      MPI_Iallreduce(in.data(), out.data(), count, MPI_DOUBLE, MPI_SUM, comm, request);
      break;
    case 1:
      LIBRARY(PMPI_Allreduce)(in.data(), out.data(), count, MPI_DOUBLE, MPI_SUM, comm);
      MPI_Ibcast(out.data(), count, MPI_DOUBLE, 0, comm, request);
      break;
    case 2:
      LIBRARY(PMPI_Allreduce)(in.data(), out.data(), count, MPI_DOUBLE, MPI_SUM, comm);
      MPI_Ibarrier(comm, request);
      break;
    default: {
      // The other ranks need the result as well.
      Numbers sums{};
      LIBRARY(PMPI_Allreduce)(in.data(), sums.data(), count, MPI_DOUBLE, MPI_SUM, comm);
      out = sums;
      MPI_Ireduce(in.data(), out.data(), count, MPI_DOUBLE, MPI_SUM, 0, comm, request);
    }
  }
}

/// Completes all requests by one of MPI's functions.
void complete(int by, Requests& requests) {
  int index = 0;
  int flag = 0;
  int done = 0;
  std::array<int, 3> indices{};
  switch (by) {
    case 0:
      for (std::size_t i = 0; i < requests.size(); ++i)
        MPI_Waitany(3, requests.data(), &index, MPI_STATUS_IGNORE);
      break;
    case 1:
      for (int left = 3; left > 0; left -= done)
        MPI_Waitsome(3, requests.data(), &done, indices.data(), MPI_STATUSES_IGNORE);
      break;
    case 2:
      for (int left = 3; left > 0; left -= flag)
        MPI_Testany(3, requests.data(), &index, &flag, MPI_STATUS_IGNORE);
      break;
    case 3:
      for (int left = 3; left > 0; left -= done)
        MPI_Testsome(3, requests.data(), &done, indices.data(), MPI_STATUSES_IGNORE);
      break;
    case 4:
      while (flag == 0) MPI_Testall(3, requests.data(), &flag, MPI_STATUSES_IGNORE);
      break;
    case 5:
      MPI_Waitall(3, requests.data(), MPI_STATUSES_IGNORE);
      break;
    case 6:
      for (MPI_Request& request : requests) MPI_Wait(&request, MPI_STATUS_IGNORE);
      break;
    default:
      for (MPI_Request& request : requests) {
        for (flag = 0; flag == 0;) MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
      }
  }
  for (const MPI_Request request : requests) CHECK(request == MPI_REQUEST_NULL, std::to_string(by));
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int ranks = size_of(MPI_COMM_WORLD);
  const int right = (world_rank() + 1) % ranks;
  const int left = (world_rank() + ranks - 1) % ranks;
  for (int round = 0; round < 320; ++round) {
    MPI_Comm comm{};
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    Numbers in{};
    Numbers out{};
    in.fill(world_rank() + round);
    int sent = round + world_rank();
    int received = -1;
    Requests requests{};
    // The collective is the first request, in the middle, or the last.
    const auto first = static_cast<std::size_t>(round % 3);
    start(round / 24 % 4, in, out, comm, &requests[first]);
    MPI_Irecv(&received, 1, MPI_INT, left, 5, comm, &requests[(first + 1) % 3]);
    MPI_Isend(&sent, 1, MPI_INT, right, 5, comm, &requests[(first + 2) % 3]);
    MPI_Comm_free(&comm);
    complete(round / 3 % 8, requests);
    CHECK(out.back() == ranks * round + ranks * (ranks - 1) / 2, std::to_string(round));
    CHECK(received == round + left);
  }
  if (world_rank() == 0) std::puts("right");
  MPI_Finalize();
}
