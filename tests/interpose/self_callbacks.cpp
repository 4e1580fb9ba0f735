// SPDX-License-Identifier: Apache-2.0
// MPI_Finalize begins by deleting the attributes of MPI_COMM_SELF, in callbacks that may still use all of
// MPI. A program (or a library in it) makes its last collectives there: blocking, non-blocking and
// persistent ones, some of which were begun before. The attribute that was set last is deleted first. No
// thread of Stretto may be in MPI by then: MPICH has switched its locks off.
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "check.hpp"

#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif
#if MPI_VERSION < 4
#define MPI_Allreduce_init MPIX_Allreduce_init
#endif

namespace {

constexpr int count = 1000;

struct Reduction {
  std::vector<int> input = std::vector<int>(count);
  std::vector<int> output = std::vector<int>(count);
  MPI_Request request = MPI_REQUEST_NULL;

  void fill(int round) {
    for (int i = 0; i < count; ++i) input[static_cast<std::size_t>(i)] = round + i + world_rank();
    std::fill(output.begin(), output.end(), -1);
  }
  void check(int round) const {
    const int ranks = size_of(MPI_COMM_WORLD);
    for (int i = 0; i < count; ++i) {
      CHECK(output[static_cast<std::size_t>(i)] == ranks * (round + i) + ranks * (ranks - 1) / 2);
    }
  }
  void start_new(int round) {
    fill(round);
    MPI_Iallreduce(input.data(), output.data(), count, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
  }
};

bool has_helper_thread() {
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::getline(std::ifstream(task.path() / "comm"), name);
    if (name == "stretto") return true;
  }
  return false;
}

Reduction persistent;
Reduction begun_before;
std::vector<int> order;

int delete_first_set(MPI_Comm /*comm*/, int /*keyval*/, void* /*value*/, void* /*extra*/) {
  order.push_back(1);
  persistent.fill(2);
  MPI_Start(&persistent.request);
  int done = 0;
  while (done == 0) MPI_Test(&persistent.request, &done, MPI_STATUS_IGNORE);
  persistent.check(2);
  MPI_Request_free(&persistent.request);
  CHECK(persistent.request == MPI_REQUEST_NULL);
  CHECK(order == std::vector<int>({2, 1}));
  if (world_rank() == 0) std::puts("right");
  return MPI_SUCCESS;
}

int delete_second_set(MPI_Comm /*comm*/, int /*keyval*/, void* /*value*/, void* /*extra*/) {
  order.push_back(2);
  int done = 0;
  while (done == 0) MPI_Test(&begun_before.request, &done, MPI_STATUS_IGNORE);
  CHECK(begun_before.request == MPI_REQUEST_NULL);
  begun_before.check(5);

  Reduction blocking;
  blocking.fill(3);
  MPI_Allreduce(blocking.input.data(), blocking.output.data(), count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  blocking.check(3);
  std::array<Reduction, 3> several;
  for (Reduction& one : several) one.start_new(4);
  for (Reduction& one : several) {
    MPI_Wait(&one.request, MPI_STATUS_IGNORE);
    one.check(4);
  }
  // A rank that is blocked in the library does its part all the same.
  Reduction crossed;
  crossed.start_new(6);
  MPI_Comm copy = MPI_COMM_NULL;
  if (world_rank() == 0) MPI_Wait(&crossed.request, MPI_STATUS_IGNORE);
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  if (world_rank() != 0) MPI_Wait(&crossed.request, MPI_STATUS_IGNORE);
  crossed.check(6);
  MPI_Comm_free(&copy);
  CHECK(!has_helper_thread());
  CHECK(choice(MPI_COMM_WORLD, count * sizeof(int)) == forced_spec());
  return MPI_SUCCESS;
}

void set_attribute(MPI_Comm_delete_attr_function* callback) {
  int keyval = MPI_KEYVAL_INVALID;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, callback, &keyval, nullptr);
  MPI_Comm_set_attr(MPI_COMM_SELF, keyval, nullptr);
  MPI_Comm_free_keyval(&keyval);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  set_attribute(&delete_first_set);
  set_attribute(&delete_second_set);
  MPI_Allreduce_init(persistent.input.data(), persistent.output.data(), count, MPI_INT, MPI_SUM,
                     MPI_COMM_WORLD, MPI_INFO_NULL, &persistent.request);
  persistent.fill(1);
  MPI_Start(&persistent.request);
  MPI_Wait(&persistent.request, MPI_STATUS_IGNORE);
  persistent.check(1);
  begun_before.start_new(5);
  CHECK(has_helper_thread());
  MPI_Finalize();
}
