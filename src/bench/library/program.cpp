// SPDX-License-Identifier: Apache-2.0
#include "bench/library/program.hpp"

#include <dlfcn.h>

#include "mpi/mpi.hpp"

namespace stretto::bench {

void* program_function(const std::string& name) {
  void* const place =
      mpi.has_library() ? RTLD_DEFAULT : dlopen("libstretto-core.so", RTLD_LAZY | RTLD_NOLOAD);
  for (const char* prefix : {"MPI_", "MPIX_"}) {
    if (void* const found = dlsym(place, (prefix + name).c_str())) return found;
  }
  return nullptr;
}

}  // namespace stretto::bench
