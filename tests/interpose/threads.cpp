// SPDX-License-Identifier: Apache-2.0
// MPI_THREAD_MULTIPLE: threads on their own communicators do not disturb or block each other.
#include <chrono>
#include <thread>
#include <vector>

#include "check.hpp"
#include "each.hpp"

namespace {

/// Each thread has its own communicator, sizes and order.
void many_at_once(std::vector<MPI_Comm>& comms) {
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < comms.size(); ++t) {
    threads.emplace_back([&, t] {
      Random random(t);
      for (int i = 0; i < 25; ++i) {
        const int count = static_cast<int>(random.next() % 3000);
        CHECK(sums_right(comms[t], count), "thread " + std::to_string(t) + " count " + std::to_string(count));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

/// Communicators come and go in one thread while another reduces.
void made_and_freed(std::vector<MPI_Comm>& comms) {
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 2; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 15; ++i) {
        MPI_Comm comm{};
        MPI_Comm_dup(comms[t], &comm);
        CHECK(sums_right(comm, 100 + i));
        CHECK(sums_right(comms[t], i));
        MPI_Comm_free(&comm);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

/// Rank 0 enters the collective of the second communicator later than that of the first, and the other
/// ranks the other way round. A lock that is held while waiting for a rank would never be released.
void in_opposite_order(std::vector<MPI_Comm>& comms) {
  const std::size_t first = world_rank() == 0 ? 0 : 1;
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 2; ++t) {
    threads.emplace_back([&, t] {
      if (t != first) std::this_thread::sleep_for(std::chrono::milliseconds(200));
      CHECK(sums_right(comms[t], 1000));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

void run_all() {
  std::vector<MPI_Comm> comms(4);
  for (MPI_Comm& comm : comms) MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  in_opposite_order(comms);
  many_at_once(comms);
  made_and_freed(comms);
  for (MPI_Comm& comm : comms) MPI_Comm_free(&comm);
}

}  // namespace

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  CHECK(provided == MPI_THREAD_MULTIPLE);
  under_each_spec(argc, argv, run_all);
  MPI_Finalize();
}
