// SPDX-License-Identifier: Apache-2.0
// A collective of the program, from its arguments as they come in to the library's own function. `next` is
// where calls go on to; `rest` is what a form has beyond the blocking one: an info, a request.
#pragma once

#include <algorithm>

#include "interpose/collectives/collectives.hpp"
#include "interpose/collectives/native_call.hpp"
#include "interpose/handles/short_types.hpp"
#include "interpose/operations/requests.hpp"
#include "interpose/progress/progress.hpp"
#include "interpose/session/entry.hpp"
#include "interpose/session/session.hpp"
#include "threads/time_slice.hpp"

namespace stretto {

template <typename Next>
bool is_looked_at(const Next& next) {
  return session.active.load(std::memory_order_acquire) && !next.was_looked_at();
}

inline int refuse_count(RawHandle comm) {
  mpi.Comm_call_errhandler(from_raw<MPI_Comm>(comm), MPI_ERR_COUNT);
  return MPI_ERR_COUNT;
}

/// To be called before the library gets a reduction in the background.
inline void note_background_reduction(RawHandle op) {
  if (!session.active || !session.non_blocking) return;
  const auto handle = from_raw<MPI_Op>(op);
  if (is_program_operation(handle) && !is_short_operation(handle)) guard_program_functions();
}

template <typename Next, typename... Arguments>
int call_library(const Next& next, const Form& form, Arguments... arguments) {
  const NativeCall native(form);
  // The library yields the processor again and again while it waits: with short slices that would take it
  // from the threads that compute.
  note_thread_that_communicates(false);
  const int result = next(arguments...);
  if (form.face == Face::persistent && result == MPI_SUCCESS && session.active) {
    note_persistent_of_library(*form.request);
  }
  return result;
}

template <typename Next, typename Count, typename... Rest>
int allreduce(const Next& next, Form form, const void* sendbuf, void* recvbuf, Count count,
              RawHandle datatype, RawHandle op, RawHandle comm, Rest... rest) {
  if (is_looked_at(next)) {
    if (const auto result = try_allreduce(form, sendbuf, recvbuf, count, from_raw<MPI_Datatype>(datatype),
                                          from_raw<MPI_Op>(op), from_raw<MPI_Comm>(comm)))
      return *result;
  }
  if (!next.takes(count)) return refuse_count(comm);
  if (form.face != Face::blocking) note_background_reduction(op);
  return call_library(next, form, sendbuf, recvbuf, count, datatype, op, comm, rest...);
}

template <typename Next, typename Count, typename... Rest>
int bcast(const Next& next, Form form, void* buffer, Count count, RawHandle datatype, int root,
          RawHandle comm, Rest... rest) {
  if (is_looked_at(next)) {
    if (const auto result =
            try_bcast(form, buffer, count, from_raw<MPI_Datatype>(datatype), root, from_raw<MPI_Comm>(comm)))
      return *result;
  }
  if (!next.takes(count)) return refuse_count(comm);
  return call_library(next, form, buffer, count, datatype, root, comm, rest...);
}

template <typename Next, typename Count, typename... Rest>
int reduce(const Next& next, Form form, const void* sendbuf, void* recvbuf, Count count, RawHandle datatype,
           RawHandle op, int root, RawHandle comm, Rest... rest) {
  if (is_looked_at(next)) {
    if (const auto result = try_reduce(form, sendbuf, recvbuf, count, from_raw<MPI_Datatype>(datatype),
                                       from_raw<MPI_Op>(op), root, from_raw<MPI_Comm>(comm)))
      return *result;
  }
  if (!next.takes(count)) return refuse_count(comm);
  if (form.face != Face::blocking) note_background_reduction(op);
  return call_library(next, form, sendbuf, recvbuf, count, datatype, op, root, comm, rest...);
}

template <typename Next, typename Count, typename... Rest>
int reduce_scatter(const Next& next, Form form, const void* sendbuf, void* recvbuf, const Count* recvcounts,
                   RawHandle datatype, RawHandle op, RawHandle comm, Rest... rest) {
  if (is_looked_at(next)) {
    if (const auto result =
            try_reduce_scatter(form, sendbuf, recvbuf, recvcounts, from_raw<MPI_Datatype>(datatype),
                               from_raw<MPI_Op>(op), from_raw<MPI_Comm>(comm)))
      return *result;
  }
  if (!next.takes_lists()) return refuse_count(comm);
  if (form.face != Face::blocking) note_background_reduction(op);
  return call_library(next, form, sendbuf, recvbuf, recvcounts, datatype, op, comm, rest...);
}

template <typename Next, typename Count, typename... Rest>
int reduce_scatter_block(const Next& next, Form form, const void* sendbuf, void* recvbuf, Count recvcount,
                         RawHandle datatype, RawHandle op, RawHandle comm, Rest... rest) {
  if (is_looked_at(next)) {
    if (const auto result =
            try_reduce_scatter_block(form, sendbuf, recvbuf, recvcount, from_raw<MPI_Datatype>(datatype),
                                     from_raw<MPI_Op>(op), from_raw<MPI_Comm>(comm)))
      return *result;
  }
  if (!next.takes(recvcount)) return refuse_count(comm);
  if (form.face != Face::blocking) note_background_reduction(op);
  return call_library(next, form, sendbuf, recvbuf, recvcount, datatype, op, comm, rest...);
}

template <typename Next, typename Count, typename... Rest>
int allgather(const Next& next, Form form, const void* sendbuf, Count sendcount, RawHandle sendtype,
              void* recvbuf, Count recvcount, RawHandle recvtype, RawHandle comm, Rest... rest) {
  if (is_looked_at(next)) {
    if (const auto result =
            try_allgather(form, sendbuf, sendcount, from_raw<MPI_Datatype>(sendtype), recvbuf, recvcount,
                          from_raw<MPI_Datatype>(recvtype), from_raw<MPI_Comm>(comm)))
      return *result;
  }
  if (!next.takes(std::max(sendcount, recvcount))) return refuse_count(comm);
  return call_library(next, form, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm, rest...);
}

}  // namespace stretto
