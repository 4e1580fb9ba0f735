// SPDX-License-Identifier: Apache-2.0
#include "interpose/next.hpp"

#include <dlfcn.h>

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "engine/mpi.hpp"
#include "interpose/handles.hpp"

namespace stretto {
namespace {

/// What the caller could not have called: it is there only in newer libraries.
[[noreturn]] void missing() {
  std::fputs("stretto: the MPI library of this process has no such function\n", stderr);
  std::abort();
}

// The large-count forms where the library is older than MPI 4 (MPICH 3, or Open MPI with the preload of the
// wrong interface). A program that looks at run time which functions there are (mpi4py's wheel) finds ours
// there.

/// The count for the form with int: what is negative is an error whatever its value, and the library says so.
int narrowed(RawCount count) {
  return count < 0 ? -1 : static_cast<int>(count);
}

int refuse_count(RawHandle comm) {
  if (mpi.Comm_call_errhandler != nullptr) mpi.Comm_call_errhandler(from_raw<MPI_Comm>(comm), MPI_ERR_COUNT);
  return MPI_ERR_COUNT;
}

int allreduce_c_by_int(const void* sendbuf, void* recvbuf, RawCount count, RawHandle datatype, RawHandle op,
                       RawHandle comm) {
  if (count > INT_MAX) return refuse_count(comm);
  return next_with<int>().allreduce(sendbuf, recvbuf, narrowed(count), datatype, op, comm);
}

int bcast_c_by_int(void* buffer, RawCount count, RawHandle datatype, int root, RawHandle comm) {
  if (count > INT_MAX) return refuse_count(comm);
  return next_with<int>().bcast(buffer, narrowed(count), datatype, root, comm);
}

int reduce_c_by_int(const void* sendbuf, void* recvbuf, RawCount count, RawHandle datatype, RawHandle op,
                    int root, RawHandle comm) {
  if (count > INT_MAX) return refuse_count(comm);
  return next_with<int>().reduce(sendbuf, recvbuf, narrowed(count), datatype, op, root, comm);
}

int reduce_scatter_c_by_int(const void* sendbuf, void* recvbuf, const RawCount* recvcounts,
                            RawHandle datatype, RawHandle op, RawHandle comm) {
  int ranks = 0;
  if (mpi.Comm_size == nullptr || mpi.Comm_size(from_raw<MPI_Comm>(comm), &ranks) != MPI_SUCCESS) {
    return MPI_ERR_COMM;
  }
  std::vector<int> counts;
  for (int rank = 0; rank < ranks; ++rank) {
    if (recvcounts[rank] > INT_MAX) return refuse_count(comm);
    counts.push_back(narrowed(recvcounts[rank]));
  }
  return next_with<int>().reduce_scatter(sendbuf, recvbuf, counts.data(), datatype, op, comm);
}

int reduce_scatter_block_c_by_int(const void* sendbuf, void* recvbuf, RawCount count, RawHandle datatype,
                                  RawHandle op, RawHandle comm) {
  if (count > INT_MAX) return refuse_count(comm);
  return next_with<int>().reduce_scatter_block(sendbuf, recvbuf, narrowed(count), datatype, op, comm);
}

int allgather_c_by_int(const void* sendbuf, RawCount sendcount, RawHandle sendtype, void* recvbuf,
                       RawCount recvcount, RawHandle recvtype, RawHandle comm) {
  if (sendcount > INT_MAX || recvcount > INT_MAX) return refuse_count(comm);
  return next_with<int>().allgather(sendbuf, narrowed(sendcount), sendtype, recvbuf, narrowed(recvcount),
                                    recvtype, comm);
}

void* find_symbol(const char* name) {
  void* symbol = dlsym(RTLD_NEXT, name);
  // An interpreter may have loaded its MPI library privately, where RTLD_NEXT does not look.
  return symbol != nullptr ? symbol : any_mpi_symbol(name);
}

/// A function of any type, as its address says nothing of that.
struct Found {
  void* symbol;
  template <typename Function>
  operator Function()
      const {  // NOLINT(google-explicit-constructor): each is used once, where its type stands
    return reinterpret_cast<Function>(symbol);
  }
};

Found find(const char* name) {
  void* symbol = find_symbol(name);
  return {symbol != nullptr ? symbol : reinterpret_cast<void*>(&missing)};
}

template <typename Function>
Function find(const char* name, Function instead) {
  void* symbol = find_symbol(name);
  return symbol != nullptr ? reinterpret_cast<Function>(symbol) : instead;
}

}  // namespace

const NextCalls& next() {
  static const NextCalls calls{
      .init = find("MPI_Init"),
      .init_thread = find("MPI_Init_thread"),
      .finalize = find("MPI_Finalize"),
      .collectives = {.allreduce = find("MPI_Allreduce"),
                      .bcast = find("MPI_Bcast"),
                      .reduce = find("MPI_Reduce"),
                      .reduce_scatter = find("MPI_Reduce_scatter"),
                      .reduce_scatter_block = find("MPI_Reduce_scatter_block"),
                      .allgather = find("MPI_Allgather")},
      .large_collectives = {.allreduce = find("MPI_Allreduce_c", allreduce_c_by_int),
                            .bcast = find("MPI_Bcast_c", bcast_c_by_int),
                            .reduce = find("MPI_Reduce_c", reduce_c_by_int),
                            .reduce_scatter = find("MPI_Reduce_scatter_c", reduce_scatter_c_by_int),
                            .reduce_scatter_block =
                                find("MPI_Reduce_scatter_block_c", reduce_scatter_block_c_by_int),
                            .allgather = find("MPI_Allgather_c", allgather_c_by_int)},
  };
  return calls;
}

}  // namespace stretto
