// SPDX-License-Identifier: Apache-2.0
// The MPI library's own functions, to compare with. Stretto interposes PMPI_X too.
#pragma once

#include <dlfcn.h>
#include <mpi.h>

#include <cstdio>
#include <cstdlib>

namespace stretto {

/// Returns the definition of `symbol` in the object that MPI itself comes from; nullptr if there is none.
inline void* find_in_library(const char* symbol) {
  Dl_info mpi{};
  // MPI_Get_version is never interposed.
  if (dladdr(reinterpret_cast<void*>(&PMPI_Get_version), &mpi) == 0) std::abort();
  void* library = dlopen(mpi.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  return library == nullptr ? nullptr : dlsym(library, symbol);
}

/// Returns the same for functions that every MPI library has.
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

/// Used as LIBRARY(PMPI_Allreduce). Looked up once.
#define LIBRARY(name)                                                              \
  ([] {                                                                            \
    static auto* const of_library = ::stretto::require_in_library(#name, &(name)); \
    return of_library;                                                             \
  }())
