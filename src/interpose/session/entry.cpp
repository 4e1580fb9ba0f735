// SPDX-License-Identifier: Apache-2.0
#include "interpose/session/entry.hpp"

#include <dlfcn.h>

#include <string>

#include "engine/mpi.hpp"
#include "interpose/session/session.hpp"

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

int refuse_missing(const char* symbol) {
  complain_once_on_rank_0("the MPI library of this process has no " + std::string(symbol));
  if (mpi.Comm_call_errhandler != nullptr) {
    mpi.Comm_call_errhandler(mpi.comm_world, MPI_ERR_UNSUPPORTED_OPERATION);
  }
  return MPI_ERR_UNSUPPORTED_OPERATION;
}

}  // namespace stretto
