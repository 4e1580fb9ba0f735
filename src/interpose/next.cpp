// SPDX-License-Identifier: Apache-2.0
#include "interpose/next.hpp"

#include <dlfcn.h>

#include <climits>
#include <cstdio>
#include <cstdlib>

#include "engine/mpi.hpp"
#include "interpose/handles.hpp"

namespace stretto {
namespace {

/// What the caller could not have called: it is there only in newer libraries.
[[noreturn]] void missing() {
  std::fputs("stretto: the MPI library of this process has no such function\n", stderr);
  std::abort();
}

/// MPI_Allreduce_c where the library is older than MPI 4 (MPICH 3, or Open MPI with the preload of the wrong
/// interface). A program that looks at run time which functions there are (mpi4py's wheel) finds ours there.
int allreduce_c_by_int(const void* sendbuf, void* recvbuf, RawCount count, RawHandle datatype, RawHandle op,
                       RawHandle comm) {
  if (count > INT_MAX) {
    if (mpi.Comm_call_errhandler != nullptr)
      mpi.Comm_call_errhandler(from_raw<MPI_Comm>(comm), MPI_ERR_COUNT);
    return MPI_ERR_COUNT;
  }
  // What is negative is an error whatever its value; the library says so.
  const int narrowed = count < 0 ? -1 : static_cast<int>(count);
  return next().allreduce(sendbuf, recvbuf, narrowed, datatype, op, comm);
}

template <typename Function>
Function find(const char* name, Function instead = nullptr) {
  void* symbol = dlsym(RTLD_NEXT, name);
  // An interpreter may have loaded its MPI library privately, where RTLD_NEXT does not look.
  if (symbol == nullptr) symbol = any_mpi_symbol(name);
  if (symbol != nullptr) return reinterpret_cast<Function>(symbol);
  return instead != nullptr ? instead : reinterpret_cast<Function>(&missing);
}

}  // namespace

const NextCalls& next() {
  static const NextCalls calls{
      .init = find<decltype(NextCalls::init)>("MPI_Init"),
      .init_thread = find<decltype(NextCalls::init_thread)>("MPI_Init_thread"),
      .finalize = find<decltype(NextCalls::finalize)>("MPI_Finalize"),
      .allreduce = find<decltype(NextCalls::allreduce)>("MPI_Allreduce"),
      .allreduce_c = find<decltype(NextCalls::allreduce_c)>("MPI_Allreduce_c", allreduce_c_by_int),
  };
  return calls;
}

}  // namespace stretto
