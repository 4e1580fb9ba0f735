// SPDX-License-Identifier: Apache-2.0
// A program for faults of shared memory, and for ranks that are lost.
//
//   shared_memory_faults REGIONS PART [ARGUMENTS]
//
// Each rank must have mapped REGIONS pieces of shared memory: one of each rank of its node, or none where it
// is refused. Rank 0 prints "right" if all is.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "check.hpp"

namespace {

/// The page of `stretto top` stays mapped, and its file open.
bool is_live_page(const std::string& name) {
  return name.find("memfd:stretto-live") != std::string::npos;
}

int mapped_regions() {
  std::ifstream maps("/proc/self/maps");
  int found = 0;
  for (std::string line; std::getline(maps, line);) {
    if (line.find("/memfd:stretto") != std::string::npos && !is_live_page(line)) ++found;
  }
  return found;
}

/// Stretto closes the files that it needs in MPI_Init to share memory, since a program may use their numbers.
int open_files() {
  int found = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const std::string name = std::filesystem::read_symlink(entry.path(), gone);
    const bool is_ours = name.find("memfd:stretto") != std::string::npos && !is_live_page(name);
    if (is_ours || name.find("[pidfd]") != std::string::npos) ++found;
  }
  return found;
}

/// Counts for messages in a line of a mailbox, in a few pieces, and in more pieces than a store has room for.
constexpr std::array<int, 4> counts{3, 1000, 100000, 1500000};

void make_calls(MPI_Comm comm) {
  for (const int count : counts) {
    CHECK(sums_right(comm, count), std::to_string(count));
    std::vector<int> data(static_cast<std::size_t>(count), rank_in(comm) == 0 ? count : 0);
    CHECK(MPI_Bcast(data.data(), count, MPI_INT, 0, comm) == MPI_SUCCESS);
    CHECK(std::ranges::all_of(data, [&](int value) { return value == count; }));
  }
}

int wait_for(pid_t child) {
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child);
  return status;
}

/// While a call is in flight, a child by fork ends in each of the ways that a child may.
void fork_in_the_middle() {
  constexpr int count = 1000000;
  const int ranks = size_of(MPI_COMM_WORLD);
  for (const bool exits : {false, true}) {
    std::vector<int> in(count, world_rank());
    std::vector<int> out(count);
    MPI_Request request{};
    CHECK(MPI_Iallreduce(in.data(), out.data(), count, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request) ==
          MPI_SUCCESS);
    const pid_t child = fork();
    if (child == 0) {
      if (mapped_regions() != 0) _exit(1);
      if (exits) std::quick_exit(0);
      _exit(0);
    }
    CHECK(wait_for(child) == 0);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(std::ranges::all_of(out, [&](int value) { return value == ranks * (ranks - 1) / 2; }));
  }
}

/// A program that a rank starts inherits neither the memory nor the files.
void start_a_program() {
  CHECK(std::system("LD_PRELOAD= LD_AUDIT= sh -c '! grep -q stretto /proc/self/maps && "
                    "! ls -l /proc/self/fd | grep -q -e memfd:stretto -e pidfd'") == 0);
}

/// More communicators at once than there are lanes, of all ranks and of some.
void many_communicators() {
  for (int round = 0; round < 2; ++round) {
    std::vector<MPI_Comm> comms(300);
    for (std::size_t i = 0; i < comms.size(); ++i) {
      const int color = i % 3 == 0 ? 0 : (world_rank() + static_cast<int>(i)) % 2;
      CHECK(MPI_Comm_split(MPI_COMM_WORLD, color, static_cast<int>(i % 2) * -world_rank(), &comms[i]) ==
            MPI_SUCCESS);
      CHECK(sums_right(comms[i], 1000));
    }
    for (const int count : {10, 5000}) {
      for (const MPI_Comm comm : comms) CHECK(sums_right(comm, count));
    }
    for (MPI_Comm& comm : comms) MPI_Comm_free(&comm);
  }
}

void many_threads() {
  std::vector<MPI_Comm> comms(4);
  for (MPI_Comm& comm : comms) MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < comms.size(); ++t) {
    threads.emplace_back([&, t] {
      Random random(t);
      for (int i = 0; i < 40; ++i) CHECK(sums_right(comms[t], static_cast<int>(random.next() % 60000)));
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (MPI_Comm& comm : comms) MPI_Comm_free(&comm);
}

/// Two ranks with a world of their own. They make calls at the same time.
void spawn(char* program) {
  std::array<char, 2> regions{"2"};
  std::array<char, 6> part{"child"};
  std::array<char*, 3> arguments{regions.data(), part.data(), nullptr};
  MPI_Comm children{};
  CHECK(MPI_Comm_spawn(program, arguments.data(), 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children,
                       MPI_ERRCODES_IGNORE) == MPI_SUCCESS);
  make_calls(MPI_COMM_WORLD);
  MPI_Comm_disconnect(&children);
}

int reductions_left = 0;  // before this rank is lost; 0: it is not

void add(void* in, void* inout, int* length, MPI_Datatype* /*type*/) {
  if (reductions_left > 0 && --reductions_left == 0) raise(SIGKILL);
  for (int i = 0; i < *length; ++i) static_cast<int*>(inout)[i] += static_cast<int*>(in)[i];
}

/// Kills rank 1. `when` is "before" a call, "reduction N", or "after N" microseconds of calls, at any place.
/// All other ranks wait for it without end.
void lose_a_rank(const std::string& when, int number) {
  std::printf("rank %d is process %d\n", world_rank(), static_cast<int>(getpid()));
  std::fflush(stdout);
  MPI_Op op{};
  MPI_Op_create(&add, 1, &op);
  MPI_Barrier(MPI_COMM_WORLD);
  const bool is_victim = world_rank() == 1;
  if (is_victim && when == "before") raise(SIGKILL);
  if (is_victim && when == "reduction") reductions_left = number;
  if (is_victim && when == "after") {
    std::thread([=] {
      std::this_thread::sleep_for(std::chrono::microseconds(number));
      raise(SIGKILL);
    }).detach();
  }
  std::vector<int> in(200000, 1);
  std::vector<int> out(in.size());
  for (;;) {
    for (const int count : {10, 1000, 200000}) {
      MPI_Allreduce(in.data(), out.data(), count, MPI_INT, op, MPI_COMM_WORLD);
    }
  }
}

/// Rank 0 ends after its last call without MPI_Finalize. The others still get the data that it has written.
void leave_early() {
  int root = getpid();
  MPI_Bcast(&root, 1, MPI_INT, 0, MPI_COMM_WORLD);
  std::vector<int> data(9, world_rank() == 0 ? 7 : 0);
  if (world_rank() != 0) {
    // Rank 0 has ended when it is a zombie or gone.
    const std::string stat = "/proc/" + std::to_string(root) + "/stat";
    for (std::string text = "R"; !text.empty() && text.find(") Z") == std::string::npos;) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      std::ifstream file(stat);
      text.clear();
      std::getline(file, text);
    }
  }
  CHECK(MPI_Bcast(data.data(), static_cast<int>(data.size()), MPI_INT, 0, MPI_COMM_WORLD) == MPI_SUCCESS);
  CHECK(data.back() == 7);
  if (world_rank() == 1) std::puts("right");
  std::fflush(stdout);
  _exit(0);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string part = argv[2];
  int level = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, part == "threads" || part == "fork" ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE,
                  &level);
  CHECK(mapped_regions() == std::atoi(argv[1]), std::to_string(mapped_regions()));
  CHECK(open_files() == 0, std::to_string(open_files()));
  make_calls(MPI_COMM_WORLD);
  if (part == "fork") fork_in_the_middle();
  if (part == "exec") start_a_program();
  if (part == "communicators") many_communicators();
  if (part == "threads") many_threads();
  if (part == "spawn") spawn(argv[0]);
  if (part == "child") {
    MPI_Comm parent{};
    MPI_Comm_get_parent(&parent);
    MPI_Comm_disconnect(&parent);
  }
  if (part == "lose") lose_a_rank(argv[3], argc > 4 ? std::atoi(argv[4]) : 0);
  if (part == "leave") leave_early();
  make_calls(MPI_COMM_WORLD);
  if (world_rank() == 0 && part != "child") std::puts("right");
  MPI_Finalize();
}
