// SPDX-License-Identifier: Apache-2.0
// Communicators whose delete and copy callbacks call collectives on them, as in libraries that flush their
// buffers; and the program's other functions that MPI calls: error handlers, and operations that ask MPI
// about types. Handles of communicators are used again, so data that were kept for a freed communicator would
// be used for another one.
#include <vector>

#include "check.hpp"

namespace {

constexpr int rounds = 40;
int calls_in_callbacks = 0;

/// Makes every form of collective by which a library may flush its buffers.
void use(MPI_Comm comm) {
  const int ranks = size_of(comm);
  for (const int count : {1, 300, 20'000}) {
    CHECK(sums_right(comm, count));
    std::vector<double> data(static_cast<std::size_t>(count), rank_in(comm) == ranks - 1 ? 2.5 : 0);
    MPI_Bcast(data.data(), count, MPI_DOUBLE, ranks - 1, comm);
    CHECK(data.back() == 2.5);
    std::vector<double> sums(data.size());
    MPI_Request request{};
    MPI_Iallreduce(data.data(), sums.data(), count, MPI_DOUBLE, MPI_SUM, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(sums.back() == 2.5 * ranks);
    std::vector<int> all(static_cast<std::size_t>(ranks) * static_cast<std::size_t>(count));
    std::vector<int> own(static_cast<std::size_t>(count), rank_in(comm));
    MPI_Allgather(own.data(), count, MPI_INT, all.data(), count, MPI_INT, comm);
    CHECK(all.back() == ranks - 1);
    MPI_Reduce(own.data(), all.data(), count, MPI_INT, MPI_MAX, 0, comm);
    CHECK(rank_in(comm) != 0 || all.front() == ranks - 1);
    MPI_Alltoall(MPI_IN_PLACE, 1, MPI_INT,
                 own.size() < static_cast<std::size_t>(ranks) ? all.data() : own.data(), 1, MPI_INT, comm);
  }
  MPI_Barrier(comm);
}

int flush(MPI_Comm comm, int /*keyval*/, void* /*value*/, void* /*extra*/) {
  ++calls_in_callbacks;
  use(comm);
  return MPI_SUCCESS;
}

int copy(MPI_Comm comm, int /*keyval*/, void* /*extra*/, void* value, void* result, int* flag) {
  ++calls_in_callbacks;
  use(comm);
  *static_cast<void**>(result) = value;
  *flag = 1;
  return MPI_SUCCESS;
}

/// An error handler that uses the communicator on which the error was found.
void handle_error(MPI_Comm* comm, int* /*error*/, ...) {  // NOLINT(cert-dcl50-cpp): as MPI has it
  ++calls_in_callbacks;
  CHECK(sums_right(*comm, 300));
}

/// An operation that asks MPI about its type, which it may.
void add(void* in, void* inout, int* count, MPI_Datatype* datatype) {
  int size = 0;
  MPI_Aint lower_bound = 0;
  MPI_Aint extent = 0;
  MPI_Type_size(*datatype, &size);
  MPI_Type_get_extent(*datatype, &lower_bound, &extent);
  CHECK(size == static_cast<int>(extent));
  CHECK(world_rank() < size_of(MPI_COMM_WORLD));
  for (int i = 0; i < *count * (size / static_cast<int>(sizeof(int))); ++i)
    static_cast<int*>(inout)[i] += static_cast<int*>(in)[i];
}

void reduce_by(MPI_Op op, MPI_Comm comm) {
  for (const int count : {1, 5000}) {
    std::vector<int> data(static_cast<std::size_t>(count), rank_in(comm));
    MPI_Allreduce(MPI_IN_PLACE, data.data(), count, MPI_INT, op, comm);
    CHECK(data.back() == size_of(comm) * (size_of(comm) - 1) / 2);
  }
}

}  // namespace

int main(int argc, char** argv) {
  int level = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  CHECK(level == MPI_THREAD_MULTIPLE);
  int keyval = MPI_KEYVAL_INVALID;
  MPI_Comm_create_keyval(&copy, &flush, &keyval, nullptr);
  MPI_Errhandler handler{};
  MPI_Comm_create_errhandler(&handle_error, &handler);
  MPI_Op op{};
  MPI_Op_create(&add, 1, &op);
  for (int round = 0; round < rounds; ++round) {
    MPI_Comm comm{};
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    // The attribute is set before Stretto's and after it, since libraries differ in which they delete first.
    if (round % 2 == 0) MPI_Comm_set_attr(comm, keyval, nullptr);
    MPI_Comm_set_errhandler(comm, handler);
    use(comm);
    if (round % 2 == 1) MPI_Comm_set_attr(comm, keyval, nullptr);
    reduce_by(op, comm);
    MPI_Comm_call_errhandler(comm, MPI_ERR_OTHER);
    MPI_Comm copied{};
    MPI_Comm_dup(comm, &copied);
    use(copied);
    const int before = calls_in_callbacks;
    if (round % 3 == 0) {
      MPI_Comm_disconnect(&comm);
    } else {
      MPI_Comm_free(&comm);
    }
    MPI_Comm_free(&copied);
    CHECK(comm == MPI_COMM_NULL);
    CHECK(calls_in_callbacks == before + 2);
    // The next communicator may have the same handle.
    MPI_Comm other{};
    MPI_Comm_split(MPI_COMM_WORLD, 0, size_of(MPI_COMM_WORLD) - world_rank(), &other);
    use(other);
    MPI_Comm_free(&other);
    // One with fewer ranks.
    MPI_Comm part{};
    MPI_Comm_split(MPI_COMM_WORLD, world_rank() == 0 ? 0 : 1, 0, &part);
    use(part);
    MPI_Comm_free(&part);
  }
  MPI_Op_free(&op);
  MPI_Errhandler_free(&handler);
  MPI_Comm_free_keyval(&keyval);
  if (world_rank() == 0) std::puts("right");
  MPI_Finalize();
}
