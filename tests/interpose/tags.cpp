// SPDX-License-Identifier: Apache-2.0
// More communicators than channels (_STRETTO_MOST_TAG). The library handles those without a channel,
// including non-blocking calls, and channels of freed communicators are reused.
#include <vector>

#include "check.hpp"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  constexpr int count = 3000;
  constexpr std::size_t communicators = 12;
  constexpr int calls = 4;
  const int ranks = size_of(MPI_COMM_WORLD);
  for (int turn = 0; turn < 3; ++turn) {
    std::vector<MPI_Comm> comms(communicators);
    std::vector<std::vector<int>> ins;
    std::vector<std::vector<int>> outs(communicators * calls, std::vector<int>(count));
    std::vector<MPI_Request> requests;
    for (std::size_t i = 0; i < communicators; ++i) {
      MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
      for (int call = 0; call < calls; ++call) {
        ins.emplace_back(count, world_rank() + call + static_cast<int>(i));
      }
    }
    // With a collective of the library in between.
    for (std::size_t i = 0; i < communicators; ++i) {
      for (int call = 0; call < calls; ++call) {
        const std::size_t at = i * calls + static_cast<std::size_t>(call);
        CHECK(MPI_Iallreduce(ins[at].data(), outs[at].data(), count, MPI_INT, MPI_SUM, comms[i],
                             &requests.emplace_back()) == MPI_SUCCESS);
        CHECK(MPI_Ibarrier(comms[i], &requests.emplace_back()) == MPI_SUCCESS);
      }
    }
    CHECK(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE) ==
          MPI_SUCCESS);
    for (std::size_t at = 0; at < outs.size(); ++at) {
      const int wanted = ranks * static_cast<int>(at % calls + at / calls) + ranks * (ranks - 1) / 2;
      CHECK(outs[at] == std::vector<int>(count, wanted), std::to_string(outs[at].front()));
    }
    for (MPI_Comm& comm : comms) {
      CHECK(sums_right(comm, count));
      MPI_Comm_free(&comm);
    }
  }
  MPI_Finalize();
}
