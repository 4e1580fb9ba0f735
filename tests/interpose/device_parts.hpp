// SPDX-License-Identifier: Apache-2.0
// Definitions for the programs with calls on device memory. The copies of the stand-in driver end late, and
// only one rank has that driver.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <memory>
#include <string_view>
#include <utility>

#include "device.hpp"
#include "each.hpp"

#if defined(OPEN_MPI) && OMPI_MAJOR_VERSION < 5
#include <mpi-ext.h>
#define INIT(Name) MPIX_##Name##_init
#else
#define INIT(Name) MPI_##Name##_init
#endif

constexpr int device_rank = 1;

inline bool has_driver() {
  return driver != nullptr;
}

inline int* ints(Buffer& buffer) {
  return reinterpret_cast<int*>(buffer.data);
}

inline MPI_Comm world() {
  return MPI_COMM_WORLD;
}

inline void wait_for(MPI_Request* request) {
  CHECK(MPI_Wait(request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
}

/// Returns the error of a sum on device memory; checks it if there is none.
inline int sum(std::size_t count, MPI_Comm comm = world()) {
  const int ranks = size_of(comm);
  Buffer input(count * sizeof(int), has_driver());
  auto output = std::make_unique<Buffer>(count * sizeof(int), has_driver());
  std::fill_n(ints(input), count, ranks == 1 ? 1 : world_rank() + 1);
  const int error =
      MPI_Allreduce(input.address, output->address, static_cast<int>(count), MPI_INT, MPI_SUM, comm);
  if (error == MPI_SUCCESS) {
    CHECK(std::all_of(ints(*output), ints(*output) + count,
                      [&](int one) { return one == ranks * (ranks + 1) / 2; }));
  }
  return error;
}

/// Makes the n-th call of the driver from now on fail; 0: none.
inline void fail_at(int call) {
  if (has_driver()) from_driver<void (*)(int)>("stand_in_fail")(call);
}

using Part = std::pair<std::string_view, void (*)()>;

/// Returns main()'s result. Arguments of the program: a list of parts, and the path of the stand-in driver.
inline int run_part(int argc, char** argv, std::initializer_list<Part> parts) {
  int level = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  CHECK(argc == 3);
  if (world_rank() == device_rank) {
    driver = dlopen(argv[2], RTLD_LAZY);
    CHECK(driver != nullptr, argv[2]);
    from_driver<void (*)(int)>("stand_in_be_late")(1);
  }
  for (const std::string& name : words_of(argv[1])) {
    begin_step(name);
    const auto* const part =
        std::find_if(parts.begin(), parts.end(), [&](const Part& one) { return one.first == name; });
    CHECK(part != parts.end(), name);
    part->second();
    if (has_driver()) CHECK(from_driver<int (*)()>("stand_in_pushed")() == 0);
    if (has_driver() && name != "lost") CHECK(from_driver<int (*)()>("stand_in_copies_under_way")() == 0);
  }
  return MPI_Finalize();
}
