// SPDX-License-Identifier: Apache-2.0
// Calls for which Stretto gets no memory: they return MPI's error code, and no exception leaves them.
#include <dlfcn.h>

#include <atomic>
#include <cerrno>
#include <exception>
#include <string_view>

#include "check.hpp"

namespace {
std::atomic<bool> memory_is_short{false};
}  // namespace

// NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming): glibc's
extern "C" void* __libc_malloc(std::size_t bytes);

/// Replaces the C library's function. Other callers get the memory that they ask for.
extern "C" void* malloc(std::size_t bytes) {
  if (!memory_is_short) return __libc_malloc(bytes);
  Dl_info caller{};
  const bool is_known = dladdr(__builtin_return_address(0), &caller) != 0 && caller.dli_fname != nullptr;
  if (!is_known || std::string_view(caller.dli_fname).find("libstretto") == std::string_view::npos)
    return __libc_malloc(bytes);
  errno = ENOMEM;
  return nullptr;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  // (A communicator that is used little is the library's.)
  const MPI_Comm comm = MPI_COMM_WORLD;
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  const int one = 1;
  int sum = 0;
  const auto call = [&] { return MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm); };
  // From the second call on it is a repeated call, which is compared with the library's.
  for (int i = 0; i < 3; ++i) CHECK(call() == MPI_SUCCESS && sum == size_of(comm));
  memory_is_short = true;
  int failed = 0;
  try {
    for (int i = 0; i < 20; ++i) failed += error_class(call()) == MPI_ERR_NO_MEM ? 1 : 0;
  } catch (const std::exception& exception) {
    memory_is_short = false;
    CHECK(false, exception.what());
  }
  memory_is_short = false;
  CHECK(failed == 20, std::to_string(failed));
  for (int i = 0; i < 100; ++i) CHECK(call() == MPI_SUCCESS && sum == size_of(comm));
  MPI_Finalize();
}
