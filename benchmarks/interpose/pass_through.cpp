// SPDX-License-Identifier: Apache-2.0
// Measures what Stretto adds to a call that it leaves to the MPI library: an 8-byte BAND on a duplicate of
// MPI_COMM_SELF. Batches by MPI_Allreduce alternate with batches by the library's own function, which Stretto
// does not see. Run it under the preload:
//   mpirun -n 1 -x LD_PRELOAD=.../libstretto-openmpi.so pass-through-openmpi
#include <dlfcn.h>
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>

#include "bench/library/library.hpp"

namespace {

using Function = int (*)(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm);
constexpr int calls = 2000;
constexpr int batches = 500;

double nanoseconds_per_call(Function function, MPI_Comm comm) {
  std::uint64_t in = 7;
  std::uint64_t out = 0;
  const auto began = std::chrono::steady_clock::now();
  for (int i = 0; i < calls; ++i) function(&in, &out, 1, MPI_UINT64_T, MPI_BAND, comm);
  const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - began;
  return took.count() / calls;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm comm{};
  MPI_Comm_dup(MPI_COMM_SELF, &comm);
  double with = 1e9;
  double without = 1e9;
  for (int batch = 0; batch < batches; ++batch) {
    with = std::min(with, nanoseconds_per_call(MPI_Allreduce, comm));
    without = std::min(without, nanoseconds_per_call(LIBRARY(PMPI_Allreduce), comm));
  }
  const bool loaded = dlsym(RTLD_DEFAULT, "stretto_version") != nullptr;
  std::printf("%s: %.1f ns, the library alone %.1f ns, added %.1f ns (target: at most 100 ns)\n",
              loaded ? "under Stretto" : "Stretto is not loaded", with, without, with - without);
  MPI_Comm_free(&comm);
  MPI_Finalize();
}
