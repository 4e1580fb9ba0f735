// SPDX-License-Identifier: Apache-2.0
// A program starts a long message. Then it finds by short collectives whether the message has come on all
// ranks, and makes no other calls. In the collectives, the MPI library must get a turn, or the message never
// moves.
#include <vector>

#include "check.hpp"

namespace {

/// The message has 512 pieces. Each piece needs a turn of the library, which gets one in 64 calls at the
/// latest. (Without turns, the message took 3.4 million calls.)
constexpr long most_calls = 60'000;

/// Returns how many calls were made until the message had come.
long wait_by_calls(bool is_blocking) {
  const int partner = world_rank() ^ 1;
  std::vector<char> out(std::size_t{16} << 20, static_cast<char>(world_rank() + 1));
  std::vector<char> in(out.size());
  std::array<MPI_Request, 2> requests{};
  MPI_Irecv(in.data(), static_cast<int>(in.size()), MPI_BYTE, partner, 1, MPI_COMM_WORLD, requests.data());
  MPI_Isend(out.data(), static_cast<int>(out.size()), MPI_BYTE, partner, 1, MPI_COMM_WORLD, &requests[1]);
  long calls = 0;
  for (int all_done = 0; all_done == 0; ++calls) {
    // Any MPI call here would move the message.
    int done = *static_cast<const volatile char*>(&in.back()) == partner + 1 ? 1 : 0;
    if (is_blocking) {
      MPI_Allreduce(&done, &all_done, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    } else {
      MPI_Request request{};
      MPI_Iallreduce(&done, &all_done, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    CHECK(calls < most_calls);
  }
  MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE);
  CHECK(in.back() == partner + 1);
  return calls;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  for (const bool is_blocking : {true, false}) {
    const long calls = wait_by_calls(is_blocking);
    if (world_rank() == 0) std::printf("%s: %ld calls\n", is_blocking ? "blocking" : "non-blocking", calls);
  }
  if (world_rank() == 0) std::puts("right");
  MPI_Finalize();
}
