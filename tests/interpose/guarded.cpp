// SPDX-License-Identifier: Apache-2.0
// Programs in which the guard decides about calls (docs/choice.md), on several nodes by STRETTO_TOPOLOGY. The
// argument names the part. Rank 0 prints "right" at the end.
#include <malloc.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <fstream>

#include <thread>
#include <vector>

#include "check.hpp"

namespace {

constexpr int count = 16384;  // 64 KiB of int
std::atomic<bool> memory_is_short{false};
std::atomic<bool> clock_jumps{false};
std::atomic<int> jumps{0};

/// Sums of 64 KiB until the first duels are decided.
constexpr int enough_calls = 40;

void reduce(MPI_Comm comm, int calls, int length = count) {
  for (int call = 0; call < calls; ++call) CHECK(sums_right(comm, length), "call " + std::to_string(call));
}

/// A communicator is freed after each number of calls: after the probe, and between any two calls of a duel.
void freed() {
  for (int turn = 0; turn < 2; ++turn) {
    for (int calls = 0; calls <= 16; ++calls) {
      MPI_Comm comm{};
      MPI_Comm_dup(MPI_COMM_WORLD, &comm);
      reduce(comm, calls);
      MPI_Comm_free(&comm);
    }
  }
}

/// Bytes that are allocated now.
std::ptrdiff_t memory_in_use() {
  const struct mallinfo2 info = mallinfo2();
  return static_cast<std::ptrdiff_t>(info.uordblks + info.hblkhd);
}

/// Two thousand communicators, each for two calls. Their learners must not stay.
void many() {
  std::ptrdiff_t before = 0;
  for (int turn = 0; turn < 2000; ++turn) {
    MPI_Comm comm{};
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    reduce(comm, 2);
    MPI_Comm_free(&comm);
    if (turn == 500) before = memory_in_use();
  }
  const std::ptrdiff_t more = memory_in_use() - before;
  CHECK(more < 1500 * 200, std::to_string(more) + " bytes more");
}

/// Threads learn on communicators of their own at the same time. Each communicator finds by itself that the
/// network has not been measured yet.
void threads() {
  std::vector<MPI_Comm> comms(4);
  for (MPI_Comm& comm : comms) MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  std::vector<std::thread> all;
  for (const MPI_Comm comm : comms) {
    all.emplace_back([comm] {
      for (int call = 0; call < enough_calls; ++call) {
        reduce(comm, 1);
        reduce(comm, 1, count / 8);
      }
    });
  }
  for (std::thread& thread : all) thread.join();
  for (MPI_Comm& comm : comms) MPI_Comm_free(&comm);
}

/// The last rank sleeps in every tenth call.
void late() {
  for (int call = 0; call < enough_calls; ++call) {
    if (call % 10 == 2 && world_rank() == size_of(MPI_COMM_WORLD) - 1) {
      std::this_thread::sleep_for(std::chrono::seconds(1));
    }
    reduce(MPI_COMM_WORLD, 1);
  }
}

/// One rank has no memory for the probe. Then no rank has measured, and the job continues.
void without_memory() {
  memory_is_short = world_rank() == size_of(MPI_COMM_WORLD) - 1;
  reduce(MPI_COMM_WORLD, 1);
  memory_is_short = false;
  reduce(MPI_COMM_WORLD, enough_calls);
}

/// The clock of one rank jumps by hours, back and forth.
void clock() {
  clock_jumps = world_rank() == size_of(MPI_COMM_WORLD) - 1;
  reduce(MPI_COMM_WORLD, 2 * enough_calls);
  CHECK(!clock_jumps || jumps > 2 * enough_calls);
  clock_jumps = false;
  reduce(MPI_COMM_WORLD, enough_calls);
}

/// Returns the seconds of `calls` sums by the program's MPI_Allreduce, or by the library alone.
double seconds_of(int calls, bool by_library) {
  std::vector<int> input(4 * count, 1);
  std::vector<int> output(4 * count);
  MPI_Barrier(MPI_COMM_WORLD);
  double seconds = -MPI_Wtime();
  for (int call = 0; call < calls; ++call) {
    (by_library ? LIBRARY(PMPI_Allreduce) : &MPI_Allreduce)(input.data(), output.data(), 4 * count, MPI_INT,
                                                            MPI_SUM, MPI_COMM_WORLD);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  seconds += MPI_Wtime();
  return seconds;
}

/// Waits for the test that runs this program: makes a file "ready..." in the folder, and waits for "go".
void wait_in(const std::string& folder) {
  if (world_rank() == 0) {
    std::ofstream(folder + "/ready" + std::to_string(getpid())) << "ready\n";
    while (access((folder + "/go").c_str(), F_OK) != 0)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

/// The network changes in the middle. Fifty calls later, the choice must be right. Prints the time of the
/// choice then, as a multiple of the library's.
void changing(const std::string& folder) {
  reduce(MPI_COMM_WORLD, 100, 4 * count);
  wait_in(folder);
  reduce(MPI_COMM_WORLD, 50, 4 * count);
  std::vector<double> ratios;
  for (int round = 0; round < 7; ++round) {
    const double own = seconds_of(4, false);
    ratios.push_back(own / seconds_of(4, true));
  }
  std::ranges::sort(ratios);
  if (world_rank() == 0) std::printf("ratio %.3f\n", ratios[ratios.size() / 2]);
}

void small() {
  reduce(MPI_COMM_WORLD, 200, 200);
}

/// A whole size class is decided: many calls, each by all ranks.
void usual() {
  reduce(MPI_COMM_WORLD, enough_calls);
}

void one() {
  reduce(MPI_COMM_WORLD, 1);
}

}  // namespace

/// Replaces the C library's function, from which Stretto gets its buffers.
extern "C" void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  if (memory_is_short) {
    errno = ENOMEM;
    return nullptr;
  }
  return memalign(alignment, bytes);
}

/// Replaces the C library's function, by which Stretto measures its calls. Other callers get the right time.
extern "C" int clock_gettime(clockid_t clock, timespec* now) {
  const auto result = static_cast<int>(syscall(SYS_clock_gettime, clock, now));
  if (!clock_jumps) return result;
  Dl_info caller{};
  const bool is_known = dladdr(__builtin_return_address(0), &caller) != 0 && caller.dli_fname != nullptr;
  if (!is_known || std::string_view(caller.dli_fname).find("stretto") == std::string_view::npos)
    return result;
  const int turn = jumps++ % 5;
  now->tv_sec += (turn - 2) * 5000L * turn;
  return result;
}

int main(int argc, char** argv) {
  int level = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  const std::string_view part = argc > 1 ? argv[1] : "usual";
  CHECK(part != "threads" || level == MPI_THREAD_MULTIPLE);
  using Part = void (*)();
  const std::array<std::pair<std::string_view, Part>, 9> parts{{{"freed", freed},
                                                                {"many", many},
                                                                {"threads", threads},
                                                                {"late", late},
                                                                {"without_memory", without_memory},
                                                                {"clock", clock},
                                                                {"small", small},
                                                                {"usual", usual},
                                                                {"one", one}}};
  const std::string folder = argc > 2 ? argv[2] : "";
  bool is_known = part == "changing";
  if (is_known) changing(folder);
  for (const auto& [name, run] : parts) {
    if (name != part) continue;
    is_known = true;
    run();
    if (!folder.empty()) wait_in(folder);
  }
  CHECK(is_known, std::string(part));
  if (world_rank() == 0) std::puts("right");
  MPI_Finalize();
}
