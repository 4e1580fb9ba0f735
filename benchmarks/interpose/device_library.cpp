// SPDX-License-Identifier: Apache-2.0
// Measures what a GPU-aware MPI library and Stretto need for an allreduce of device memory: the library's own
// function, which Stretto does not see, and MPI_Allreduce, whose way the guard has chosen by then, in turns.
// Results of both are checked. Prints medians of the slowest rank, and quartiles of the ratios; above 1,
// Stretto is faster. Run it under the preload:
//   mpirun -n 4 -x LD_PRELOAD=.../libstretto.so device-library-openmpi DRIVER [calls before [turns]]
// The driver is libcuda.so.1; all ranks share its first GPU. A library that takes host memory only crashes.
#include <dlfcn.h>
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "../../tests/device_memory.hpp"
#include "measured.hpp"

namespace {

using Function = int (*)(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm);

class Message {
 public:
  Message(void* driver, int count)
      : count_(count),
        host_(static_cast<std::size_t>(count)),
        in_(driver, sizeof(float) * host_.size()),
        out_(driver, sizeof(float) * host_.size()) {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
    for (int i = 0; i < count; ++i) host_[static_cast<std::size_t>(i)] = static_cast<float>(rank_ + i % 97);
    in_.put(host_.data());
  }

  double time_by(Function function) const {
    return time_of(
        [&] { function(in_.address(), out_.address(), count_, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD); });
  }

  /// Ends the job if the last result is wrong.
  void check() {
    out_.get(host_.data());
    for (int i = 0; i < count_; ++i) {
      const int sum = ranks_ * (ranks_ - 1) / 2 + ranks_ * (i % 97);
      if (host_[static_cast<std::size_t>(i)] == static_cast<float>(sum)) continue;
      std::fprintf(stderr, "rank %d: element %d of %d is wrong\n", rank_, i, count_);
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
  }

  void measure(int calls_before, int turns) {
    for (int call = 0; call < calls_before; ++call) time_by(MPI_Allreduce);
    std::vector<double> with;
    std::vector<double> without;
    std::vector<double> ratios;
    for (int turn = 0; turn < turns; ++turn) {
      without.push_back(time_by(LIBRARY(PMPI_Allreduce)));
      check();
      with.push_back(time_by(MPI_Allreduce));
      check();
      ratios.push_back(without.back() / with.back());
    }
    if (rank_ != 0) return;
    std::printf("| %zu B | %.3f ms | %.3f ms | %.2f (%.2f–%.2f) |\n", sizeof(float) * host_.size(),
                1e3 * quantile(without, 0.5), 1e3 * quantile(with, 0.5), quantile(ratios, 0.5),
                quantile(ratios, 0.25), quantile(ratios, 0.75));
    std::fflush(stdout);
  }

 private:
  int count_;
  int rank_ = 0;
  int ranks_ = 1;
  std::vector<float> host_;
  stretto::test::DeviceMemory in_;
  stretto::test::DeviceMemory out_;
};

}  // namespace

int main(int argc, char** argv) {
  void* const driver = argc > 1 ? dlopen(argv[1], RTLD_LAZY) : nullptr;
  if (driver == nullptr) {
    std::fprintf(stderr, "usage: %s DRIVER [calls before [turns]]\n", argv[0]);
    return 1;
  }
  MPI_Init(&argc, &argv);
  const int calls_before = argc > 2 ? std::atoi(argv[2]) : 200;
  const int turns = argc > 3 ? std::atoi(argv[3]) : 15;
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) std::puts("| size | library | Stretto | library / Stretto |\n| --- | --- | --- | --- |");
  for (const int count : {2, 1024, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20}) {
    Message(driver, count).measure(count < 1 << 20 ? calls_before : calls_before / 4, turns);
  }
  MPI_Finalize();
}
