// SPDX-License-Identifier: Apache-2.0
#include "interpose/entry.hpp"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

#include "engine/mpi.hpp"

namespace stretto {

void* find_next(const char* symbol, const char* otherwise) {
  void* found = dlsym(RTLD_NEXT, symbol);
  // An interpreter may have loaded its MPI library privately, where RTLD_NEXT does not look.
  if (found == nullptr) found = any_mpi_symbol(symbol);
  return found == nullptr && otherwise != nullptr ? find_next(otherwise) : found;
}

bool is_of_library(void* function, const char* symbol) {
  return function == any_mpi_symbol(symbol);
}

void complain_of_missing(const char* symbol) {
  std::fputs(("stretto: the MPI library of this process has no " + std::string(symbol) + "\n").c_str(), stderr);
  std::abort();
}

}  // namespace stretto
