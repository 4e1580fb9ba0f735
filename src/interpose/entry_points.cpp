// SPDX-License-Identifier: Apache-2.0
// The functions of MPI that a program reaches here first. Their handles are taken raw (next.hpp), so each has
// a C++ name of its own beside the one that the linker sees.
#include <optional>

#include "interpose/collectives.hpp"
#include "interpose/handles.hpp"
#include "interpose/next.hpp"
#include "interpose/session.hpp"

#define STRETTO_ENTRY(name) __asm__(#name) __attribute__((visibility("default")))

namespace stretto {

extern "C" {
int entry_init(int* argc, char*** argv) STRETTO_ENTRY(MPI_Init);
int entry_init_thread(int* argc, char*** argv, int required, int* provided) STRETTO_ENTRY(MPI_Init_thread);
int entry_finalize() STRETTO_ENTRY(MPI_Finalize);
int entry_allreduce(const void* sendbuf, void* recvbuf, int count, RawHandle datatype, RawHandle op,
                    RawHandle comm) STRETTO_ENTRY(MPI_Allreduce);
int entry_bcast(void* buffer, int count, RawHandle datatype, int root, RawHandle comm)
    STRETTO_ENTRY(MPI_Bcast);
int entry_reduce(const void* sendbuf, void* recvbuf, int count, RawHandle datatype, RawHandle op, int root,
                 RawHandle comm) STRETTO_ENTRY(MPI_Reduce);
int entry_reduce_scatter(const void* sendbuf, void* recvbuf, const int* recvcounts, RawHandle datatype,
                         RawHandle op, RawHandle comm) STRETTO_ENTRY(MPI_Reduce_scatter);
int entry_reduce_scatter_block(const void* sendbuf, void* recvbuf, int recvcount, RawHandle datatype,
                               RawHandle op, RawHandle comm) STRETTO_ENTRY(MPI_Reduce_scatter_block);
int entry_allgather(const void* sendbuf, int sendcount, RawHandle sendtype, void* recvbuf, int recvcount,
                    RawHandle recvtype, RawHandle comm) STRETTO_ENTRY(MPI_Allgather);
#ifdef STRETTO_ABI_MPICH  // Open MPI 4 and 5 have no such functions, and a program may look whether there are
                          // any
int entry_allreduce_c(const void* sendbuf, void* recvbuf, RawCount count, RawHandle datatype, RawHandle op,
                      RawHandle comm) STRETTO_ENTRY(MPI_Allreduce_c);
int entry_bcast_c(void* buffer, RawCount count, RawHandle datatype, int root, RawHandle comm)
    STRETTO_ENTRY(MPI_Bcast_c);
int entry_reduce_c(const void* sendbuf, void* recvbuf, RawCount count, RawHandle datatype, RawHandle op,
                   int root, RawHandle comm) STRETTO_ENTRY(MPI_Reduce_c);
int entry_reduce_scatter_c(const void* sendbuf, void* recvbuf, const RawCount* recvcounts, RawHandle datatype,
                           RawHandle op, RawHandle comm) STRETTO_ENTRY(MPI_Reduce_scatter_c);
int entry_reduce_scatter_block_c(const void* sendbuf, void* recvbuf, RawCount recvcount, RawHandle datatype,
                                 RawHandle op, RawHandle comm) STRETTO_ENTRY(MPI_Reduce_scatter_block_c);
int entry_allgather_c(const void* sendbuf, RawCount sendcount, RawHandle sendtype, void* recvbuf,
                      RawCount recvcount, RawHandle recvtype, RawHandle comm) STRETTO_ENTRY(MPI_Allgather_c);
#endif
}

namespace {

bool is_active() {
  return session.active.load(std::memory_order_acquire);
}

template <typename Count>
int allreduce(const void* sendbuf, void* recvbuf, Count count, RawHandle datatype, RawHandle op,
              RawHandle comm) {
  if (is_active()) {
    if (const auto result = try_allreduce(sendbuf, recvbuf, count, from_raw<MPI_Datatype>(datatype),
                                          from_raw<MPI_Op>(op), from_raw<MPI_Comm>(comm), std::nullopt))
      return *result;
  }
  return next_with<Count>().allreduce(sendbuf, recvbuf, count, datatype, op, comm);
}

template <typename Count>
int bcast(void* buffer, Count count, RawHandle datatype, int root, RawHandle comm) {
  if (is_active()) {
    if (const auto result = try_bcast(buffer, count, from_raw<MPI_Datatype>(datatype), root,
                                      from_raw<MPI_Comm>(comm), std::nullopt))
      return *result;
  }
  return next_with<Count>().bcast(buffer, count, datatype, root, comm);
}

template <typename Count>
int reduce(const void* sendbuf, void* recvbuf, Count count, RawHandle datatype, RawHandle op, int root,
           RawHandle comm) {
  if (is_active()) {
    if (const auto result = try_reduce(sendbuf, recvbuf, count, from_raw<MPI_Datatype>(datatype),
                                       from_raw<MPI_Op>(op), root, from_raw<MPI_Comm>(comm), std::nullopt))
      return *result;
  }
  return next_with<Count>().reduce(sendbuf, recvbuf, count, datatype, op, root, comm);
}

template <typename Count>
int reduce_scatter(const void* sendbuf, void* recvbuf, const Count* recvcounts, RawHandle datatype,
                   RawHandle op, RawHandle comm) {
  if (is_active()) {
    if (const auto result = try_reduce_scatter(sendbuf, recvbuf, recvcounts, from_raw<MPI_Datatype>(datatype),
                                               from_raw<MPI_Op>(op), from_raw<MPI_Comm>(comm), std::nullopt))
      return *result;
  }
  return next_with<Count>().reduce_scatter(sendbuf, recvbuf, recvcounts, datatype, op, comm);
}

template <typename Count>
int reduce_scatter_block(const void* sendbuf, void* recvbuf, Count recvcount, RawHandle datatype,
                         RawHandle op, RawHandle comm) {
  if (is_active()) {
    if (const auto result =
            try_reduce_scatter_block(sendbuf, recvbuf, recvcount, from_raw<MPI_Datatype>(datatype),
                                     from_raw<MPI_Op>(op), from_raw<MPI_Comm>(comm), std::nullopt))
      return *result;
  }
  return next_with<Count>().reduce_scatter_block(sendbuf, recvbuf, recvcount, datatype, op, comm);
}

template <typename Count>
int allgather(const void* sendbuf, Count sendcount, RawHandle sendtype, void* recvbuf, Count recvcount,
              RawHandle recvtype, RawHandle comm) {
  if (is_active()) {
    if (const auto result =
            try_allgather(sendbuf, sendcount, from_raw<MPI_Datatype>(sendtype), recvbuf, recvcount,
                          from_raw<MPI_Datatype>(recvtype), from_raw<MPI_Comm>(comm), std::nullopt))
      return *result;
  }
  return next_with<Count>().allgather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
}

}  // namespace

int entry_init(int* argc, char*** argv) {
  const int result = next().init(argc, argv);
  if (result == MPI_SUCCESS) begin_session();
  return result;
}

int entry_init_thread(int* argc, char*** argv, int required, int* provided) {
  const int result = next().init_thread(argc, argv, required, provided);
  if (result == MPI_SUCCESS) begin_session();
  return result;
}

int entry_finalize() {
  end_session();
  return next().finalize();
}

int entry_allreduce(const void* sendbuf, void* recvbuf, int count, RawHandle datatype, RawHandle op,
                    RawHandle comm) {
  return allreduce<int>(sendbuf, recvbuf, count, datatype, op, comm);
}
int entry_bcast(void* buffer, int count, RawHandle datatype, int root, RawHandle comm) {
  return bcast<int>(buffer, count, datatype, root, comm);
}
int entry_reduce(const void* sendbuf, void* recvbuf, int count, RawHandle datatype, RawHandle op, int root,
                 RawHandle comm) {
  return reduce<int>(sendbuf, recvbuf, count, datatype, op, root, comm);
}
int entry_reduce_scatter(const void* sendbuf, void* recvbuf, const int* recvcounts, RawHandle datatype,
                         RawHandle op, RawHandle comm) {
  return reduce_scatter<int>(sendbuf, recvbuf, recvcounts, datatype, op, comm);
}
int entry_reduce_scatter_block(const void* sendbuf, void* recvbuf, int recvcount, RawHandle datatype,
                               RawHandle op, RawHandle comm) {
  return reduce_scatter_block<int>(sendbuf, recvbuf, recvcount, datatype, op, comm);
}
int entry_allgather(const void* sendbuf, int sendcount, RawHandle sendtype, void* recvbuf, int recvcount,
                    RawHandle recvtype, RawHandle comm) {
  return allgather<int>(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
}

#ifdef STRETTO_ABI_MPICH
int entry_allreduce_c(const void* sendbuf, void* recvbuf, RawCount count, RawHandle datatype, RawHandle op,
                      RawHandle comm) {
  return allreduce<RawCount>(sendbuf, recvbuf, count, datatype, op, comm);
}
int entry_bcast_c(void* buffer, RawCount count, RawHandle datatype, int root, RawHandle comm) {
  return bcast<RawCount>(buffer, count, datatype, root, comm);
}
int entry_reduce_c(const void* sendbuf, void* recvbuf, RawCount count, RawHandle datatype, RawHandle op,
                   int root, RawHandle comm) {
  return reduce<RawCount>(sendbuf, recvbuf, count, datatype, op, root, comm);
}
int entry_reduce_scatter_c(const void* sendbuf, void* recvbuf, const RawCount* recvcounts, RawHandle datatype,
                           RawHandle op, RawHandle comm) {
  return reduce_scatter<RawCount>(sendbuf, recvbuf, recvcounts, datatype, op, comm);
}
int entry_reduce_scatter_block_c(const void* sendbuf, void* recvbuf, RawCount recvcount, RawHandle datatype,
                                 RawHandle op, RawHandle comm) {
  return reduce_scatter_block<RawCount>(sendbuf, recvbuf, recvcount, datatype, op, comm);
}
int entry_allgather_c(const void* sendbuf, RawCount sendcount, RawHandle sendtype, void* recvbuf,
                      RawCount recvcount, RawHandle recvtype, RawHandle comm) {
  return allgather<RawCount>(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
}
#endif

}  // namespace stretto
