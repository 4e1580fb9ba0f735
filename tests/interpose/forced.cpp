// SPDX-License-Identifier: Apache-2.0
// stretto_force: the program switches between specs while it runs, with short calls of another thread in
// flight all the time. The statistics, which the test reads, show which spec was taken. Prints "right".
#include <atomic>
#include <thread>

#include "check.hpp"

namespace {

constexpr int turns = 5;
constexpr int elements = 4096;  // of 4 bytes
constexpr std::size_t least_bytes = 4096;

int force(const char* collective, const char* spec, std::size_t bytes) {
  using Force = int (*)(const char*, const char*, std::size_t);
  static const auto function = from_stretto<Force>("stretto_force");
  return function(collective, spec, bytes);
}

}  // namespace

int main(int argc, char** argv) {
  CHECK(force("allreduce", "ring", least_bytes) == MPI_ERR_OTHER, "before MPI_Init");
  int level = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm others{};
  MPI_Comm_dup(MPI_COMM_WORLD, &others);
  std::atomic<int> through = 0;
  std::thread background;
  if (level == MPI_THREAD_MULTIPLE) {
    background = std::thread([&] {
      // As in Horovod, the thread goes on until all ranks are done.
      for (int least = 0; least == 0;) {
        const int mine = through;
        MPI_Allreduce(&mine, &least, 1, MPI_INT, MPI_MIN, others);
      }
    });
  }
  const std::string usual = choice(MPI_COMM_WORLD, least_bytes);
  const std::string usual_below = choice(MPI_COMM_WORLD, least_bytes - 1);
  for (int turn = 0; turn < turns; ++turn) {
    for (const char* spec : {"native", "ring", "ring:segments=4", "auto"}) {
      CHECK(force("allreduce", spec, least_bytes) == MPI_SUCCESS, spec);
      CHECK(sums_right(MPI_COMM_WORLD, elements), spec);
      const bool is_auto = std::string_view(spec) == "auto";
      CHECK(choice(MPI_COMM_WORLD, least_bytes) == (is_auto ? usual : spec), spec);
      CHECK(choice(MPI_COMM_WORLD, least_bytes - 1) == usual_below, spec);
    }
  }
  CHECK(force("allreduce", "rings", least_bytes) == MPI_ERR_ARG);
  CHECK(force("allsum", "ring", least_bytes) == MPI_ERR_ARG);
  CHECK(force("allreduce", nullptr, least_bytes) == MPI_ERR_ARG);
  through = 1;
  if (background.joinable()) background.join();
  MPI_Comm_free(&others);
  if (world_rank() == 0) std::puts("right");
  MPI_Finalize();
}
