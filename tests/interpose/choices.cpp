// SPDX-License-Identifier: Apache-2.0
// For the tests of the tuning table. All ranks pass each argument CALL:BYTES to stretto_choice, for
// MPI_COMM_WORLD and for each half of it; rank 0 prints "world CALL:BYTES SPEC" and "half CALL:BYTES SPEC".
// Then sums of different sizes, for the statistics: blocking of 4000 bytes, non-blocking of 8000, persistent
// of 16000, and of 32000 by an operation that does not commute. Rank 0 prints "right" when all are.
#include <cstring>
#include <vector>

#include "check.hpp"

namespace {

std::string asked(const std::string& call, MPI_Comm comm, std::size_t bytes) {
  const std::string spec = choice(comm, bytes, call);
  // The same on all ranks.
  std::array<char, 200> first{};
  spec.copy(first.data(), first.size() - 1);
  MPI_Barrier(comm);
  PMPI_Bcast(first.data(), static_cast<int>(first.size()), MPI_CHAR, 0, comm);
  CHECK(spec == first.data(), call + ": " + spec);
  return spec;
}

void ask_all(const char* name, MPI_Comm comm, int count, char** words) {
  for (int i = 0; i < count; ++i) {
    const std::string word = words[i];
    const std::size_t colon = word.find(':');
    const std::string spec = asked(word.substr(0, colon), comm, std::stoull(word.substr(colon + 1)));
    if (world_rank() == 0) std::printf("%s %s %s\n", name, words[i], spec.c_str());
  }
}

/// An operation that returns the left operand: it is associative but does not commute.
void take_left(void* left, void* right, int* count, MPI_Datatype* /*type*/) {
  std::memcpy(right, left, static_cast<std::size_t>(*count) * sizeof(int));
}

/// Buffers of a sum of ranks, and whether the result is right.
struct Sum {
  explicit Sum(int count) : input(static_cast<std::size_t>(count), world_rank()), output(input.size(), -1) {}
  [[nodiscard]] int count() const { return static_cast<int>(input.size()); }
  [[nodiscard]] bool is(int expected) const { return output == std::vector<int>(output.size(), expected); }

  std::vector<int> input;
  std::vector<int> output;
};

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int ranks = size_of(MPI_COMM_WORLD);
  const int total = ranks * (ranks - 1) / 2;
  MPI_Comm half{};
  MPI_Comm_split(MPI_COMM_WORLD, 2 * world_rank() / ranks, 0, &half);
  ask_all("world", MPI_COMM_WORLD, argc - 1, argv + 1);
  ask_all("half", half, argc - 1, argv + 1);

  CHECK(sums_right(MPI_COMM_WORLD, 1000));
  CHECK(sums_right(half, 10));

  Sum background(2000);
  MPI_Request request{};
  MPI_Iallreduce(background.input.data(), background.output.data(), background.count(), MPI_INT, MPI_SUM,
                 MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(background.is(total));

#if MPI_VERSION >= 4
  Sum again(4000);
  MPI_Allreduce_init(again.input.data(), again.output.data(), again.count(), MPI_INT, MPI_SUM, MPI_COMM_WORLD,
                     MPI_INFO_NULL, &request);
  for (int turn = 0; turn < 2; ++turn) {
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(again.is(total));
  }
  MPI_Request_free(&request);
#endif

  Sum left(8000);
  MPI_Op op{};
  // Looked up at run time: if a program below MPI_THREAD_MULTIPLE refers to it, its non-blocking calls are
  // native.
  reinterpret_cast<decltype(&MPI_Op_create)>(dlsym(RTLD_DEFAULT, "MPI_Op_create"))(&take_left, 0, &op);
  MPI_Allreduce(left.input.data(), left.output.data(), left.count(), MPI_INT, op, MPI_COMM_WORLD);
  CHECK(left.is(0));
  MPI_Op_free(&op);

  MPI_Comm_free(&half);
  if (world_rank() == 0) std::puts("right");
  MPI_Finalize();
}
