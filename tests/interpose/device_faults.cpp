// SPDX-License-Identifier: Apache-2.0
// Calls on device memory with failures: any call of the driver, a lost context, freed memory, or a fork.
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <string>

#include "device_parts.hpp"

namespace {

/// Whatever call of the driver fails, no rank hangs, the error is reported, and the next call is right.
void errors() {
  MPI_Comm_set_errhandler(world(), MPI_ERRORS_RETURN);
  int failed = 0;
  for (int n = 1; n <= 60; ++n) {
    fail_at(n);
    failed += sum(20000) != MPI_SUCCESS ? 1 : 0;
    fail_at(0);
    CHECK(sums_right(world(), 20000));
    CHECK(sum(20000) == MPI_SUCCESS);
  }
  if (has_driver()) CHECK(failed > 10, std::to_string(failed));
  if (has_driver()) CHECK(from_driver<int (*)()>("stand_in_pushed")() == 0);
}

/// Returns the error of a persistent sum on device memory, made and started twice; checks it if there is
/// none.
int repeated_sum(int count, MPI_Comm comm) {
  Buffer input(static_cast<std::size_t>(count) * sizeof(int), has_driver());
  Buffer output(static_cast<std::size_t>(count) * sizeof(int), has_driver());
  MPI_Request request{};
  int error =
      INIT(Allreduce)(input.address, output.address, count, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &request);
  if (error != MPI_SUCCESS) return error;
  for (int time = 1; time <= 2; ++time) {
    std::fill_n(ints(input), count, time);
    MPI_Start(&request);
    const int its = MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (its != MPI_SUCCESS) error = its;
    if (its == MPI_SUCCESS)
      CHECK(std::all_of(ints(output), ints(output) + count, [&](int one) { return one == time; }));
  }
  CHECK(MPI_Request_free(&request) == MPI_SUCCESS);
  return error;
}

/// The same for calls of the library. The library cannot report to other ranks that a rank has nothing to
/// send, so there are no other ranks.
void errors_alone() {
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  const auto try_all = [&](const std::function<int()>& sum_alone) {
    int failed = 0;
    for (int n = 1; n <= 60; ++n) {
      fail_at(n);
      failed += sum_alone() != MPI_SUCCESS ? 1 : 0;
      fail_at(0);
      CHECK(sum_alone() == MPI_SUCCESS);
    }
    if (has_driver()) CHECK(failed > 10, std::to_string(failed));
  };
  try_all([] { return sum(20000, MPI_COMM_SELF); });
  try_all([] { return repeated_sum(20000, MPI_COMM_SELF); });
}

/// A persistent call that has failed can be started again.
void again() {
  MPI_Comm_set_errhandler(world(), MPI_ERRORS_RETURN);
  constexpr int count = 20000;
  const int ranks = size_of(world());
  Buffer input(count * sizeof(int), has_driver());
  Buffer output(count * sizeof(int), has_driver());
  MPI_Request request{};
  const auto init = from_stretto<int (*)(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Info,
                                         const char*, MPI_Request*)>("stretto_allreduce_init");
  CHECK(init(input.address, output.address, count, MPI_INT, MPI_SUM, world(), MPI_INFO_NULL, nullptr,
             &request) == MPI_SUCCESS);
  int failed = 0;
  for (int n = 1; n <= 40; ++n) {
    std::fill_n(ints(input), count, n + world_rank());
    fail_at(n);
    MPI_Start(&request);
    failed += MPI_Wait(&request, MPI_STATUS_IGNORE) != MPI_SUCCESS ? 1 : 0;
    fail_at(0);
    MPI_Start(&request);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS, std::to_string(n));
    CHECK(std::all_of(ints(output), ints(output) + count,
                      [&](int one) { return one == n * ranks + ranks * (ranks - 1) / 2; }));
  }
  if (has_driver()) CHECK(failed > 10, std::to_string(failed));
  MPI_Request_free(&request);
}

int handled = 0;
void handle(MPI_Comm* /*comm*/, int* /*code*/, ...) {
  ++handled;
}

/// Each error of a call is reported once.
void told() {
  MPI_Errhandler handler{};
  MPI_Comm_create_errhandler(handle, &handler);
  MPI_Comm comm{};
  MPI_Comm_dup(MPI_COMM_SELF, &comm);
  MPI_Comm_set_errhandler(comm, handler);
  constexpr int count = 20000;
  int failed = 0;
  for (const bool blocking : {false, true}) {
    for (int n = 1; n <= 60; ++n) {
      Buffer data(count * sizeof(int), has_driver());
      std::fill_n(ints(data), count, n);
      handled = 0;
      fail_at(n);
      MPI_Request request = MPI_REQUEST_NULL;
      int error = MPI_SUCCESS;
      if (blocking) {
        error = MPI_Allreduce(MPI_IN_PLACE, data.address, count, MPI_INT, MPI_SUM, comm);
      } else {
        error = MPI_Iallreduce(MPI_IN_PLACE, data.address, count, MPI_INT, MPI_SUM, comm, &request);
        if (error == MPI_SUCCESS) error = MPI_Wait(&request, MPI_STATUS_IGNORE);
      }
      fail_at(0);
      CHECK(handled == (error == MPI_SUCCESS ? 0 : 1), std::to_string(n) + ": " + std::to_string(handled));
      if (error == MPI_SUCCESS)
        CHECK(std::all_of(ints(data), ints(data) + count, [&](int one) { return one == n; }));
      failed += error == MPI_SUCCESS ? 0 : 1;
    }
  }
  if (has_driver()) CHECK(failed > 20, std::to_string(failed));
  MPI_Comm_free(&comm);
  MPI_Errhandler_free(&handler);
}

void lost() {
  MPI_Comm_set_errhandler(world(), MPI_ERRORS_RETURN);
  constexpr int count = 100000;
  Buffer data(count * sizeof(int), has_driver());
  if (has_driver()) from_driver<void (*)(double)>("stand_in_set_rate")(1e6);
  MPI_Request request{};
  MPI_Iallreduce(MPI_IN_PLACE, data.address, count, MPI_INT, MPI_SUM, world(), &request);
  if (has_driver()) from_driver<void (*)()>("stand_in_lose_context")();
  const int error = MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (has_driver()) CHECK(error != MPI_SUCCESS);
  if (has_driver()) CHECK(MPI_Allreduce(MPI_IN_PLACE, data.address, count, MPI_INT, MPI_SUM, world()) != 0);
  if (!has_driver()) MPI_Allreduce(MPI_IN_PLACE, data.address, count, MPI_INT, MPI_SUM, world());
  CHECK(sums_right(world(), 20000));
}

/// Memory of another context, of none, and memory that the host can access.
void memory() {
  constexpr int count = 20000;
  const int ranks = size_of(world());
  for (const char* from : {"stand_in_allocate", "stand_in_allocate_elsewhere", "stand_in_allocate_managed",
                           "stand_in_allocate_pooled"}) {
    for (const char* into : {"stand_in_allocate", "stand_in_allocate_elsewhere"}) {
      Buffer input(count * sizeof(int), has_driver(), from);
      Buffer output(count * sizeof(int), has_driver(), into);
      std::fill_n(ints(input), count, world_rank() + 1);
      CHECK(MPI_Allreduce(input.address, output.address, count, MPI_INT, MPI_SUM, world()) == MPI_SUCCESS);
      CHECK(std::all_of(ints(output), ints(output) + count,
                        [&](int one) { return one == ranks * (ranks + 1) / 2; }));
    }
  }
  // A library would read it.
  if (library_reduces()) return;
  MPI_Comm_set_errhandler(world(), MPI_ERRORS_RETURN);
  auto freed = std::make_unique<Buffer>(count * sizeof(int), has_driver());
  void* const address = freed->address;
  if (has_driver()) freed.reset();
  const int error = MPI_Allreduce(MPI_IN_PLACE, address, count, MPI_INT, MPI_SUM, world());
  if (has_driver()) CHECK(error != MPI_SUCCESS);
  CHECK(sums_right(world(), 20000));
}

/// A child, which has no context, may end as it likes.
void forks() {
  CHECK(sum(20000) == MPI_SUCCESS);
  if (has_driver()) {
    const pid_t child = fork();
    if (child == 0) std::exit(0);
    int status = 1;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  CHECK(sum(20000) == MPI_SUCCESS);
}

}  // namespace

int main(int argc, char** argv) {
  return run_part(argc, argv,
                  {{"errors", errors},
                   {"errors_alone", errors_alone},
                   {"again", again},
                   {"told", told},
                   {"lost", lost},
                   {"memory", memory},
                   {"forks", forks}});
}
