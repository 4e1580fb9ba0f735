// SPDX-License-Identifier: Apache-2.0
#include "interpose/next.hpp"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

#include "engine/mpi.hpp"

namespace stretto {
namespace {

/// What the caller could not have called: it is there only in newer libraries.
[[noreturn]] void missing() {
  std::fputs("stretto: the MPI library of this process has no such function\n", stderr);
  std::abort();
}

template <typename Function>
Function find(const char* name) {
  void* symbol = dlsym(RTLD_NEXT, name);
  // An interpreter may have loaded its MPI library privately, where RTLD_NEXT does not look.
  if (symbol == nullptr) symbol = any_mpi_symbol(name);
  return symbol == nullptr ? reinterpret_cast<Function>(&missing) : reinterpret_cast<Function>(symbol);
}

}  // namespace

const NextCalls& next() {
  static const NextCalls calls{
      .init = find<decltype(NextCalls::init)>("MPI_Init"),
      .init_thread = find<decltype(NextCalls::init_thread)>("MPI_Init_thread"),
      .finalize = find<decltype(NextCalls::finalize)>("MPI_Finalize"),
      .allreduce = find<decltype(NextCalls::allreduce)>("MPI_Allreduce"),
      .allreduce_c = find<decltype(NextCalls::allreduce_c)>("MPI_Allreduce_c"),
  };
  return calls;
}

}  // namespace stretto
