// SPDX-License-Identifier: Apache-2.0
// A repeated call allocates nothing. Every C++ allocation of this process and every buffer of the pool is
// counted.
#include <cstdlib>
#include <new>
#include <vector>

#include "algorithms/registry.hpp"
#include "engine/execution/schedule_execution.hpp"
#include "mpi_check.hpp"

namespace {
std::size_t allocations = 0;
}  // namespace

// GCC takes the matching pair below for a free() of memory of the standard operator new.
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"

void* operator new(std::size_t bytes) {
  ++allocations;
  if (void* memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

// The pool takes its buffers from here.
extern "C" void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  ++allocations;
  void* memory = nullptr;
  return posix_memalign(&memory, alignment, bytes) == 0 ? memory : nullptr;
}

int main(int argc, char** argv) {
  using namespace stretto;
  using namespace stretto::test;
  begin(&argc, &argv);
  const std::size_t count = 20000;
  std::vector<float> input(count, 1.0F);
  std::vector<float> output(count);
  const Call call =
      Call::whole(input.data(), output.data(), count, find_element(mpi.float_, mpi.sum).value());
  const Topology topology = Topology::flat(size_of(mpi.comm_world));
  for (const Recipe& recipe : sample_recipes(Collective::allreduce)) {
    ScheduleExecution execution(make_transport(mpi.comm_world), nullptr,
                                build(recipe, topology, 0, world_rank),
                                Pipelining{.segments = 7, .window = 3});
    STRETTO_CHECK(run_to_end(execution, call) == MPI_SUCCESS);
    const std::size_t before = allocations;
    STRETTO_CHECK(before > 0);  // the counter counts
    for (int i = 0; i < 4; ++i) STRETTO_CHECK(run_to_end(execution, call) == MPI_SUCCESS);
    STRETTO_CHECK(allocations == before);
  }
  MPI_Finalize();
  return EXIT_SUCCESS;
}
