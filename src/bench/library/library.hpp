// SPDX-License-Identifier: Apache-2.0
// The MPI library's own functions, to compare with: Stretto takes PMPI_X over as well.
#pragma once

#include <dlfcn.h>
#include <mpi.h>

#include <cstdio>
#include <cstdlib>

namespace stretto {

/// The definition of `symbol` in the object that MPI itself comes from; nullptr if there is none.
inline void* find_in_library(const char* symbol) {
  Dl_info mpi{};
  // Nobody takes MPI_Get_version over.
  if (dladdr(reinterpret_cast<void*>(&PMPI_Get_version), &mpi) == 0) std::abort();
  void* library = dlopen(mpi.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  return library == nullptr ? nullptr : dlsym(library, symbol);
}

/// The same of what every MPI library has.
template <typename Function>
Function* require_in_library(const char* symbol, Function* /*of_type*/) {
  void* found = find_in_library(symbol);
  if (found == nullptr) {
    std::fprintf(stderr, "there is no %s in the MPI library\n", symbol);
    std::abort();
  }
  return reinterpret_cast<Function*>(found);
}

}  // namespace stretto

/// Such as LIBRARY(PMPI_Allreduce); looked up once.
#define LIBRARY(name)                                                            \
  ([] {                                                                          \
    static auto* const function = ::stretto::require_in_library(#name, &(name)); \
    return function;                                                             \
  }())
