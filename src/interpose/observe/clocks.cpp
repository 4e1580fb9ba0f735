// SPDX-License-Identifier: Apache-2.0
#include "interpose/observe/clocks.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <string>
#include <system_error>

#include "engine/messages/channel.hpp"
#include "interpose/session/session.hpp"
#include "mpi/mpi.hpp"
#include "text/hash.hpp"
#include "topology/boot_id.hpp"

namespace stretto {
namespace {

/// Returns a number that is the same in all ranks that read this rank's clock: those under one kernel, in one
/// time namespace. A rank whose kernel has no number is on its own.
std::uint64_t number_of_clock() {
  const std::string kernel = boot_id();
  if (kernel.empty()) return hash_of("rank " + std::to_string(session.world_rank));
  std::error_code none_is_known;
  return hash_of(kernel + std::filesystem::read_symlink("/proc/self/ns/time", none_is_known).string());
}

}  // namespace

std::int64_t nanoseconds_now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

std::vector<int> find_clocks() {
  const std::uint64_t own = number_of_clock();
  std::vector<std::uint64_t> numbers(static_cast<std::size_t>(session.topology.ranks()));
  mpi.Allgather(&own, 1, mpi.uint64_t, numbers.data(), 1, mpi.uint64_t, channel_pool().comm());
  std::vector<int> clock_of(numbers.size());
  std::ranges::transform(numbers, clock_of.begin(), [&](std::uint64_t number) {
    return static_cast<int>(std::ranges::find(numbers, number) - numbers.begin());
  });
  return clock_of;
}

/// Makes round trips with rank 0. The shortest one is the most precise: rank 0 answers in the middle of
/// it.
ClockReading compare_clocks(const std::vector<int>& clock_of) {
  constexpr int round_trips = 20;
  constexpr int tag = 1;  // of channel 0, which no communicator gets
  MPI_Comm comm = channel_pool().comm();
  const auto own = static_cast<std::size_t>(session.world_rank);
  ClockReading best{.at = nanoseconds_now(), .ahead = 0, .error = 0};
  std::int64_t of_rank_0 = 0;
  for (int rank = 1; rank < static_cast<int>(clock_of.size()); ++rank) {
    if (clock_of[static_cast<std::size_t>(rank)] != rank) continue;  // a lower rank has its clock
    for (int i = 0; i < round_trips; ++i) {
      if (session.world_rank == 0) {
        mpi.Recv(&of_rank_0, 1, mpi.int64_t, rank, tag, comm, mpi.status_ignore);
        of_rank_0 = nanoseconds_now();
        mpi.Send(&of_rank_0, 1, mpi.int64_t, rank, tag, comm);
      } else if (session.world_rank == rank) {
        const std::int64_t program_call = nanoseconds_now();
        mpi.Send(&of_rank_0, 1, mpi.int64_t, 0, tag, comm);
        mpi.Recv(&of_rank_0, 1, mpi.int64_t, 0, tag, comm, mpi.status_ignore);
        const std::int64_t answered = nanoseconds_now();
        const std::int64_t half = (answered - program_call) / 2;
        if (i == 0 || half < best.error)
          best = {program_call + half, of_rank_0 - (program_call + half), half};
      }
    }
    std::array<std::int64_t, 3> reading{best.at, best.ahead, best.error};
    mpi.Bcast(reading.data(), static_cast<int>(reading.size()), mpi.int64_t, rank, comm);
    if (clock_of[own] == rank) best = {reading[0], reading[1], reading[2]};
  }
  return best;
}

ClockReading assume_drift(const ClockReading& first) {
  constexpr std::int64_t drift = 10'000;  // 100 ppm
  const std::int64_t now = nanoseconds_now();
  return {now, first.ahead, first.error > 0 ? first.error + ((now - first.at) / drift) : 0};
}

}  // namespace stretto
