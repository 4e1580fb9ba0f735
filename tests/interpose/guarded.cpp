// SPDX-License-Identifier: Apache-2.0
// Programs whose calls the guard decides (docs/choice.md), on what STRETTO_TOPOLOGY makes several nodes. The
// argument names the part. Rank 0 prints "right" at the end.
#include <malloc.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <ctime>

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

/// In kilobytes.
long most_memory() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

/// Two thousand communicators, each for two calls. Their learners must not stay.
void many() {
  long before = 0;
  for (int turn = 0; turn < 2000; ++turn) {
    MPI_Comm comm{};
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    reduce(comm, 2);
    MPI_Comm_free(&comm);
    if (turn == 500) before = most_memory();
  }
  // What 1,500 communicators may leave behind; the library's own part is some 2 MB.
  CHECK(most_memory() - before < 30 * 1024, std::to_string(most_memory() - before) + " KiB more");
}

/// Threads learn on communicators of their own at the same time. Each communicator finds out by itself that
/// nobody has measured the network yet.
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

/// One rank has no memory for the probe: nobody has measured, and the job goes on.
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

/// In place of the C library's: what Stretto's buffers come from.
extern "C" void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  if (memory_is_short) {
    errno = ENOMEM;
    return nullptr;
  }
  return memalign(alignment, bytes);
}

/// In place of the C library's: by what Stretto measures its calls. Others get the right time.
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
  bool is_known = false;
  for (const auto& [name, run] : parts) {
    if (name != part) continue;
    is_known = true;
    run();
  }
  CHECK(is_known, std::string(part));
  if (world_rank() == 0) std::puts("right");
  MPI_Finalize();
}
