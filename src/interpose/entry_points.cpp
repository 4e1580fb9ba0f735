// SPDX-License-Identifier: Apache-2.0
// The functions of MPI that a program reaches here first. Their handles are taken raw (next.hpp), so each has
// a C++ name of its own beside the one that the linker sees.
#include <optional>

#include "interpose/allreduce.hpp"
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
#ifdef STRETTO_ABI_MPICH  // Open MPI 4 and 5 have no such function, and a program may look whether there is
                          // one
int entry_allreduce_c(const void* sendbuf, void* recvbuf, RawCount count, RawHandle datatype, RawHandle op,
                      RawHandle comm) STRETTO_ENTRY(MPI_Allreduce_c);
#endif
}

namespace {

std::optional<int> try_stretto(const void* sendbuf, void* recvbuf, RawCount count, RawHandle datatype,
                               RawHandle op, RawHandle comm) {
  if (!session.active.load(std::memory_order_acquire)) return std::nullopt;
  return try_allreduce(sendbuf, recvbuf, count, from_raw<MPI_Datatype>(datatype), from_raw<MPI_Op>(op),
                       from_raw<MPI_Comm>(comm), std::nullopt);
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
  if (const auto result = try_stretto(sendbuf, recvbuf, count, datatype, op, comm)) return *result;
  return next().allreduce(sendbuf, recvbuf, count, datatype, op, comm);
}

#ifdef STRETTO_ABI_MPICH
int entry_allreduce_c(const void* sendbuf, void* recvbuf, RawCount count, RawHandle datatype, RawHandle op,
                      RawHandle comm) {
  if (const auto result = try_stretto(sendbuf, recvbuf, count, datatype, op, comm)) return *result;
  return next().allreduce_c(sendbuf, recvbuf, count, datatype, op, comm);
}
#endif

}  // namespace stretto
