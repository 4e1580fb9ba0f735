// SPDX-License-Identifier: Apache-2.0
// A job that is long enough for STRETTO_ONLINE to learn: as many sums of 64 KiB on MPI_COMM_WORLD as the
// argument says, or sums of as many elements as a second one says; with another argument, the ranks are
// killed behind the third. Between them are calls with which duels and agreements must not conflict: a
// non-blocking collective in flight, broadcasts from changing roots in datatypes that differ between ranks,
// an operation that does not commute, and sums on two other communicators, by two threads at once if MPI
// allows that. Rank 0 prints "right" if all results are right.
#include <csignal>
#include <cstring>
#include <thread>
#include <vector>

#include "check.hpp"

namespace {

constexpr int count = 16384;

/// An operation that returns the left operand: it is associative but does not commute.
void take_left(void* left, void* right, int* length, MPI_Datatype* /*type*/) {
  std::memcpy(right, left, static_cast<std::size_t>(*length) * sizeof(int));
}

class Sums {
 public:
  explicit Sums(MPI_Comm comm, int length = count)
      : comm_(comm),
        length_(length),
        input_(static_cast<std::size_t>(length)),
        output_(static_cast<std::size_t>(length)),
        ranks_(size_of(comm)),
        rank_(rank_in(comm)) {}

  void reduce(int call) {
    fill(call);
    MPI_Allreduce(input_.data(), output_.data(), length_, MPI_INT, MPI_SUM, comm_);
    check(call);
  }

  void reduce_in_background(int call, MPI_Request& request) {
    fill(call);
    MPI_Iallreduce(input_.data(), output_.data(), length_, MPI_INT, MPI_SUM, comm_, &request);
  }

  void fill(int call) {
    for (int i = 0; i < length_; ++i) input_[static_cast<std::size_t>(i)] = i + call * (rank_ + 1);
  }

  void check(int call) const {
    for (int i = 0; i < length_; ++i) {
      const int expected = ranks_ * i + call * ranks_ * (ranks_ + 1) / 2;
      CHECK(output_[static_cast<std::size_t>(i)] == expected, "in call " + std::to_string(call));
    }
  }

 private:
  MPI_Comm comm_;
  int length_;
  std::vector<int> input_;
  std::vector<int> output_;
  int ranks_;
  int rank_;
};

/// Half of the ranks name each element, the others pairs of them, from below the rule's floor on.
void broadcast(int call, MPI_Datatype pair) {
  const int root = call % size_of(MPI_COMM_WORLD);
  const bool in_pairs = world_rank() % 2 == 1;
  std::vector<int> data(count, world_rank() == root ? call : -1);
  MPI_Bcast(data.data(), in_pairs ? count / 2 : count, in_pairs ? pair : MPI_INT, root, MPI_COMM_WORLD);
  CHECK(data == std::vector<int>(count, call));
}

void take_lefts(MPI_Op op) {
  const std::vector<int> input(count, world_rank());
  std::vector<int> output(count, -1);
  MPI_Allreduce(input.data(), output.data(), count, MPI_INT, op, MPI_COMM_WORLD);
  CHECK(output == std::vector<int>(count, 0));
}

}  // namespace

int main(int argc, char** argv) {
  int level = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  const int calls = argc > 1 ? std::atoi(argv[1]) : 100;
  MPI_Datatype pair{};
  MPI_Type_contiguous(2, MPI_INT, &pair);
  MPI_Type_commit(&pair);
  MPI_Op op{};
  MPI_Op_create(&take_left, 0, &op);
  std::array<MPI_Comm, 2> others{};
  MPI_Comm_split(MPI_COMM_WORLD, world_rank() % 2, 0, others.data());
  MPI_Comm_dup(MPI_COMM_WORLD, &others[1]);

  Sums sums(MPI_COMM_WORLD, argc > 2 ? std::atoi(argv[2]) : count);
  Sums background(MPI_COMM_WORLD);
  for (int call = 0; call < calls; ++call) {
    MPI_Request request = MPI_REQUEST_NULL;
    if (call % 16 == 0) background.reduce_in_background(call, request);
    sums.reduce(call);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (call % 16 == 0) background.check(call);
    if (call % 8 == 0) broadcast(call, pair);
    if (call % 8 == 4) take_lefts(op);
    if (argc > 3 && call == 2) raise(SIGKILL);
  }
  const auto reduce_on = [&](MPI_Comm comm) {
    Sums here(comm);
    for (int call = 0; call < calls / 4; ++call) here.reduce(call);
  };
  if (level == MPI_THREAD_MULTIPLE) {
    std::thread other(reduce_on, others[0]);
    reduce_on(others[1]);
    other.join();
  } else {
    reduce_on(others[0]);
    reduce_on(others[1]);
  }

  for (MPI_Comm& other : others) MPI_Comm_free(&other);
  MPI_Op_free(&op);
  MPI_Type_free(&pair);
  if (world_rank() == 0) std::puts("right");
  MPI_Finalize();
}
