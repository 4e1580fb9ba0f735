// SPDX-License-Identifier: Apache-2.0
// Barriers: no rank leaves a barrier before all ranks of its communicator have entered it, and after it all
// ranks see the data that the others wrote before it.
//
//   barrier many              on several communicators, by turns with other calls and beside calls in flight
//   barrier threads           several threads, each with a communicator of its own
//   barrier count BARRIERS    so many on MPI_COMM_WORLD and nothing else, for a tool that counts
//   barrier lose              rank 1 is killed, and the others wait for it without an end
//
// Rank 0 prints "right" if all is.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "check.hpp"

namespace {

constexpr int most_ranks = 64;
constexpr int most_communicators = 8;

/// The number of barriers that a rank has entered. It is read and written without any memory order, since the
/// barrier must provide that order.
using Entered = std::atomic<std::uint32_t>;
struct Board {
  std::array<std::array<Entered, most_ranks>, most_communicators> entered;  // [communicator][rank of all]
};

/// Memory of all ranks. (Windows of Open MPI would keep Stretto from raising the level of threads.)
Board& make_board() {
  std::string name = (std::filesystem::temp_directory_path() / "stretto-barrier-XXXXXX").string();
  int file = -1;
  if (world_rank() == 0) {
    file = mkstemp(name.data());
    CHECK(file >= 0 && ftruncate(file, sizeof(Board)) == 0);
  }
  MPI_Bcast(name.data(), static_cast<int>(name.size()), MPI_CHAR, 0, MPI_COMM_WORLD);
  if (world_rank() != 0) file = open(name.c_str(), O_RDWR | O_CLOEXEC);
  CHECK(file >= 0);
  void* memory = mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  CHECK(memory != MAP_FAILED);
  close(file);
  int one = 1;
  int all = 0;
  MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (world_rank() == 0) unlink(name.c_str());
  return *static_cast<Board*>(memory);
}

/// One communicator and its part of the board.
class Subject {
 public:
  Subject(MPI_Comm comm, std::array<Entered, most_ranks>& entered) : comm_(comm), entered_(entered) {
    MPI_Group world{};
    MPI_Group group{};
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Comm_group(comm, &group);
    std::vector<int> here(static_cast<std::size_t>(size_of(comm)));
    for (std::size_t i = 0; i < here.size(); ++i) here[i] = static_cast<int>(i);
    in_world_.resize(here.size());
    MPI_Group_translate_ranks(group, size_of(comm), here.data(), world, in_world_.data());
    MPI_Group_free(&world);
    MPI_Group_free(&group);
  }

  [[nodiscard]] MPI_Comm comm() const { return comm_; }
  /// Replaces the communicator by another communicator of the same ranks.
  void continue_on(MPI_Comm comm) { comm_ = comm; }

  void check_barrier() {
    ++number_;
    entered_.at(static_cast<std::size_t>(in_world_[static_cast<std::size_t>(rank_in(comm_))]))
        .store(number_, std::memory_order_relaxed);
    CHECK(MPI_Barrier(comm_) == MPI_SUCCESS);
    for (const int rank : in_world_) {
      const std::uint32_t its = entered_.at(static_cast<std::size_t>(rank)).load(std::memory_order_relaxed);
      // Other ranks may be in the next barrier, but no further.
      CHECK(its == number_ || its == number_ + 1, std::to_string(its) + " " + std::to_string(number_));
    }
  }

 private:
  MPI_Comm comm_;
  std::array<Entered, most_ranks>& entered_;
  std::vector<int> in_world_;
  std::uint32_t number_ = 0;
};

/// Delays ranks: mostly for a moment, now and then for so long that the others give their cores away.
void drift(Random& own) {
  if (own.next() % 32 == 0) std::this_thread::sleep_for(std::chrono::microseconds(own.next() % 50));
  if (own.next() % 2000 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(3));
}

/// The allreduce that looks like a barrier.
void check_same_allreduce(MPI_Comm comm) {
  const std::array<unsigned char, 2> in{static_cast<unsigned char>(1U << (rank_in(comm) % 8)), 0};
  std::array<unsigned char, 2> out{0, 77};
  CHECK(MPI_Allreduce(in.data(), out.data(), 1, MPI_BYTE, MPI_BOR, comm) == MPI_SUCCESS);
  CHECK(out[0] == (1U << std::min(size_of(comm), 8)) - 1 && out[1] == 77);
}

void check_many(Board& board) {
  const int ranks = size_of(MPI_COMM_WORLD);
  const int rank = world_rank();
  MPI_Comm other{};
  MPI_Comm reversed{};
  MPI_Comm half{};
  MPI_Comm first_and_rest{};  // one rank alone, and all others
  MPI_Comm_dup(MPI_COMM_WORLD, &other);
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &reversed);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  MPI_Comm_split(MPI_COMM_WORLD, rank == 0 ? 0 : 1, rank, &first_and_rest);
  // The communicators of a split share a part of the board, since no rank is in two of them.
  std::vector<Subject> subjects;
  std::size_t part = 0;
  for (MPI_Comm comm : {MPI_COMM_WORLD, other, reversed, half, first_and_rest}) {
    subjects.emplace_back(comm, board.entered.at(part++));
  }
  Random shared(7);  // the same on all ranks
  Random own(static_cast<std::uint64_t>(rank) + 1);
  const int turns = 40000 / ranks;
  for (int turn = 0; turn < turns; ++turn) {
    // Most barriers are on one communicator, so that its race is decided more than once.
    Subject& subject = subjects[shared.next() % 8 < 6 ? 0 : shared.next() % subjects.size()];
    const std::uint64_t beside = shared.next() % 32;
    const bool has_call = beside < 2;
    const bool has_barrier = beside == 2;
    const bool has_message = beside == 3 || beside == 4;
    int one = 1;
    int sum = 0;
    std::vector<int> sent(has_message ? 20000 : 0, turn);
    std::vector<int> received(sent.size());
    std::array<MPI_Request, 2> requests{MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    if (has_call) MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, requests.data());
    if (has_barrier) MPI_Ibarrier(subject.comm(), requests.data());
    if (has_message) {
      MPI_Isend(sent.data(), static_cast<int>(sent.size()), MPI_INT, (rank + 1) % ranks, 1, MPI_COMM_WORLD,
                requests.data());
      MPI_Irecv(received.data(), static_cast<int>(received.size()), MPI_INT, (rank + ranks - 1) % ranks, 1,
                MPI_COMM_WORLD, &requests[1]);
    }
    drift(own);
    subject.check_barrier();
    if (shared.next() % 16 == 0) check_same_allreduce(subject.comm());
    if (shared.next() % 16 == 0) CHECK(sums_right(subject.comm(), shared.next() % 2 == 0 ? 3 : 5000));
    MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE);
    CHECK(!has_call || sum == ranks);
    CHECK(received == sent);
    if (turn % 2000 == 1999) {  // its handle may be used again
      MPI_Comm_free(&other);
      MPI_Comm_dup(MPI_COMM_WORLD, &other);
      subjects[1].continue_on(other);
    }
  }
  for (MPI_Comm* comm : {&other, &reversed, &half, &first_and_rest}) MPI_Comm_free(comm);
}

void check_threads(Board& board) {
  std::vector<MPI_Comm> comms(3);
  for (MPI_Comm& comm : comms) MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < comms.size(); ++t) {
    threads.emplace_back([&, t] {
      Subject subject(comms[t], board.entered.at(t));
      Random own(10 * static_cast<std::uint64_t>(world_rank()) + t);
      for (int turn = 0; turn < 1500; ++turn) {
        drift(own);
        subject.check_barrier();
        if (turn % 16 == 0) CHECK(sums_right(comms[t], 7));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (MPI_Comm& comm : comms) MPI_Comm_free(&comm);
}

void lose_a_rank() {
  std::printf("rank %d is process %d\n", world_rank(), static_cast<int>(getpid()));
  std::fflush(stdout);
  for (int i = 0; i < 10; ++i) MPI_Barrier(MPI_COMM_WORLD);
  if (world_rank() == 1) raise(SIGKILL);
  for (;;) MPI_Barrier(MPI_COMM_WORLD);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string part = argc > 1 ? argv[1] : "many";
  int level = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, part == "threads" ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
  if (part == "count") {
    for (int left = std::atoi(argv[2]); left > 0; --left) CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
  } else if (part == "lose") {
    lose_a_rank();
  } else {
    Board& board = make_board();
    if (part == "many") check_many(board);
    if (part == "threads") check_threads(board);
  }
  if (world_rank() == 0) std::puts("right");
  MPI_Finalize();
}
