// SPDX-License-Identifier: Apache-2.0
#include "interpose/passing/entry.hpp"

#include <dlfcn.h>

#include <atomic>
#include <string>

#include "interpose/session/session.hpp"
#include "mpi/mpi.hpp"

namespace stretto {

namespace {
/// Looks behind libstretto.so, if that has loaded this library (src/front); else behind this library.
constinit std::atomic<void* (*)(const char*)> next_definition{nullptr};
}  // namespace

extern "C" __attribute__((visibility("default"))) void stretto_core_begin(void* (*next)(const char*)) {
  next_definition.store(next);
}

void* find_next(const char* symbol, const char* otherwise) {
  auto* const of_front = next_definition.load();
  void* found = of_front == nullptr ? dlsym(RTLD_NEXT, symbol) : of_front(symbol);
  // An interpreter may have loaded its MPI library privately, where RTLD_NEXT does not look.
  if (found == nullptr) found = any_mpi_symbol(symbol);
  return found == nullptr && otherwise != nullptr ? find_next(otherwise) : found;
}

bool is_of_library(void* function, const char* symbol) {
  return function == any_mpi_symbol(symbol);
}

int report_no_memory() {
  if (session.serves_program) mpi.Comm_call_errhandler(mpi.comm_world, mpi.err_no_mem);
  return mpi.err_no_mem;
}

int refuse_missing(const char* symbol) {
  complain_once_on_rank_0("the MPI library of this process has no " + std::string(symbol));
  if (session.serves_program) mpi.Comm_call_errhandler(mpi.comm_world, mpi.err_unsupported_operation);
  return mpi.err_unsupported_operation;
}

}  // namespace stretto
