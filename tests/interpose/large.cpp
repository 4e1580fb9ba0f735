// SPDX-License-Identifier: Apache-2.0
// Calls in place with more bytes than an int can count. On MPICH there are also more elements than that; Open
// MPI's MPI 3 has only int counts.
#include <sys/mman.h>

#include "check.hpp"

namespace {

#ifdef OPEN_MPI
using Value = double;
constexpr std::size_t count = (std::size_t{1} << 28) + 3;
int reduce(void* values) {
  return MPI_Allreduce(MPI_IN_PLACE, values, static_cast<int>(count), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}
#else
using Value = std::int8_t;
constexpr std::size_t count = (std::size_t{1} << 31) + 5;
int reduce(void* values) {
  return MPI_Allreduce_c(MPI_IN_PLACE, values, static_cast<MPI_Count>(count), MPI_INT8_T, MPI_SUM,
                         MPI_COMM_WORLD);
}
#endif

/// Small enough for sums of 8 bits. The period divides no segment's length.
Value contribution(std::size_t i, int rank) {
  return static_cast<Value>(i % 53 + static_cast<std::size_t>(rank));
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = world_rank();
  CHECK(size_of(MPI_COMM_WORLD) == 2);
  constexpr std::size_t bytes = count * sizeof(Value);
  static_assert(bytes > (std::size_t{1} << 31));
  void* memory =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  CHECK(memory != MAP_FAILED);
  auto* values = static_cast<Value*>(memory);
  for (std::size_t i = 0; i < count; ++i) values[i] = contribution(i, rank);
  CHECK(reduce(values) == MPI_SUCCESS);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < count; ++i)
    wrong += values[i] != contribution(i, 0) + contribution(i, 1) ? 1 : 0;
  CHECK(wrong == 0, std::to_string(wrong) + " elements");
  munmap(memory, bytes);
  MPI_Finalize();
}
