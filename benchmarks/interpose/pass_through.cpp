// SPDX-License-Identifier: Apache-2.0
// Measures what Stretto adds to a call that it leaves to the MPI library: an 8-byte BAND on a duplicate of
// MPI_COMM_SELF. Batches by MPI_Allreduce alternate with batches by the library's own function, which Stretto
// does not see. Buffers are on the stack and, in a second line, from mmap: of those Stretto does not know
// without a question that they are host memory. Run it under the preload:
//   mpirun -n 1 -x LD_PRELOAD=.../libstretto.so pass-through-openmpi [DRIVER]
// With a driver for devices, a GPU's or the stand-in, which is loaded first and has a context, Stretto asks
// it about those from mmap.
#include <dlfcn.h>
#include <mpi.h>
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>

#include "../../tests/device_memory.hpp"
#include "../../tests/interpose/library.hpp"

namespace {

using Function = int (*)(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm);
constexpr int calls = 2000;
constexpr int batches = 500;

double nanoseconds_per_call(Function function, const std::uint64_t* in, std::uint64_t* out, MPI_Comm comm) {
  const auto began = std::chrono::steady_clock::now();
  for (int i = 0; i < calls; ++i) function(in, out, 1, MPI_UINT64_T, MPI_BAND, comm);
  const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - began;
  return took.count() / calls;
}

void measure(const char* where, const std::uint64_t* in, std::uint64_t* out, MPI_Comm comm) {
  double with = 1e9;
  double without = 1e9;
  for (int batch = 0; batch < batches; ++batch) {
    with = std::min(with, nanoseconds_per_call(MPI_Allreduce, in, out, comm));
    without = std::min(without, nanoseconds_per_call(LIBRARY(PMPI_Allreduce), in, out, comm));
  }
  const bool loaded = dlsym(RTLD_DEFAULT, "stretto_version") != nullptr;
  std::printf("%s, buffers %s: %.1f ns, the library alone %.1f ns, added %.1f ns\n",
              loaded ? "under Stretto" : "Stretto is not loaded", where, with, without, with - without);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) {
    void* const driver = dlopen(argv[1], RTLD_LAZY);
    if (driver == nullptr) {
      std::fprintf(stderr, "%s\n", dlerror());
      return 1;
    }
    const stretto::test::DeviceMemory memory(driver, 4096);
  }
  MPI_Init(&argc, &argv);
  MPI_Comm comm{};
  MPI_Comm_dup(MPI_COMM_SELF, &comm);
  std::uint64_t in = 7;
  std::uint64_t out = 0;
  measure("on the stack", &in, &out, comm);
  constexpr std::size_t bytes = 2 * sizeof(std::uint64_t);
  void* mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) MPI_Abort(MPI_COMM_WORLD, 1);
  auto* words = static_cast<std::uint64_t*>(mapped);
  measure("from mmap", words, words + 1, comm);
  munmap(mapped, bytes);
  MPI_Comm_free(&comm);
  MPI_Finalize();
}
