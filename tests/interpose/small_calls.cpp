// SPDX-License-Identifier: Apache-2.0
// A small call, which the library handles, is passed on without any allocation.
#include <algorithm>
#include <array>
#include <climits>
#include <cstddef>
#include <string>

#include "check.hpp"

extern "C" void* __libc_malloc(std::size_t bytes);

namespace {

bool is_counting = false;
long allocations = 0;

}  // namespace

/// Counts all allocations of this process.
extern "C" void* malloc(std::size_t bytes) {
  if (is_counting) ++allocations;
  return __libc_malloc(bytes);
}

namespace {

constexpr int ranks = 2;
MPI_Comm comm = MPI_COMM_NULL;
const std::array<double, ranks> in{};
std::array<double, ranks> out{};
const std::array<int, ranks> counts{1, 1};

/// As MPI_X and as the library's own function.
#define CALL(name, ...)                                                               \
  Call {                                                                              \
#name, [] { MPI_##name(__VA_ARGS__); }, [] { LIBRARY(PMPI_##name)(__VA_ARGS__); } \
  }
struct Call {
  const char* name;
  void (*program)();
  void (*library)();
};
const std::array calls{
    CALL(Allreduce, in.data(), out.data(), 1, MPI_DOUBLE, MPI_SUM, comm),
    CALL(Bcast, out.data(), 1, MPI_DOUBLE, 0, comm),
    CALL(Reduce, in.data(), out.data(), 1, MPI_DOUBLE, MPI_SUM, 0, comm),
    CALL(Reduce_scatter, in.data(), out.data(), counts.data(), MPI_DOUBLE, MPI_SUM, comm),
    CALL(Reduce_scatter_block, in.data(), out.data(), 1, MPI_DOUBLE, MPI_SUM, comm),
    CALL(Allgather, in.data(), 1, MPI_DOUBLE, out.data(), 1, MPI_DOUBLE, comm),
};

/// Returns the allocations of the call with the fewest. Only some calls of a library need memory for messages
/// that come too early.
long allocations_of(void (*call)()) {
  constexpr int times = 100;
  long fewest = LONG_MAX;
  for (int i = 0; i < times; ++i) {
    allocations = 0;
    is_counting = true;
    call();
    is_counting = false;
    fewest = std::min(fewest, allocations);
  }
  return fewest;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  CHECK(size_of(MPI_COMM_WORLD) == ranks);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  for (const Call& call : calls) {
    const long of_program = allocations_of(call.program);
    const long of_library = allocations_of(call.library);
    CHECK(of_program <= of_library, std::string(call.name) + ": " + std::to_string(of_program) +
                                        ", library " + std::to_string(of_library));
  }
  MPI_Comm_free(&comm);
  MPI_Finalize();
}
