// SPDX-License-Identifier: Apache-2.0
// Entries of MPI's other functions that may wait for another rank. Meanwhile, outstanding operations must go
// on. If there is a non-blocking form, it takes the call, and this thread makes progress itself. Otherwise
// the helper thread does. (A native collective keeps its form: MPI does not match MPI_Ibarrier with
// MPI_Barrier, and other ranks may have nothing outstanding.) functions.txt lists the functions.
#include "interpose/collectives/collective_forms.hpp"
#include "interpose/operations/requests.hpp"
#include "interpose/passing/entry.hpp"
#include "interpose/progress/progress.hpp"
#include "interpose/session/session.hpp"

namespace stretto {
namespace {

/// Waits for a request as the blocking function would. `started` is the error code of the call that started
/// it.
int finish(int started, MPI_Request& request, MPI_Status* status) {
  if (started != MPI_SUCCESS) return started;
  int result = MPI_SUCCESS;
  wait_until([&] {
    int done = 0;
    result = mpi.Test(&request, &done, status);
    return result != MPI_SUCCESS || done != 0;
  });
  return result;
}

}  // namespace

#define STRETTO_SEND(name, start)                                                                           \
  STRETTO_TAKE_OVER(name,                                                                                   \
                    (const void* buffer, int count, RawHandle datatype, int dest, int tag, RawHandle comm), \
                    (buffer, count, datatype, dest, tag, comm), {                                           \
                      if (!has_outstanding()) {                                                             \
                        return next(buffer, count, datatype, dest, tag, comm);                              \
                      }                                                                                     \
                      MPI_Request request = mpi.request_null;                                               \
                      return finish(mpi.start(buffer, count, from_raw<MPI_Datatype>(datatype), dest, tag,   \
                                              from_raw<MPI_Comm>(comm), &request),                          \
                                    request, mpi.status_ignore);                                            \
                    })
STRETTO_SEND(Send, Isend)
STRETTO_SEND(Ssend, Issend)
STRETTO_SEND(Rsend, Irsend)

STRETTO_TAKE_OVER(Recv,
                  (void* buffer, int count, RawHandle datatype, int source, int tag, RawHandle comm,
                   void* status),
                  (buffer, count, datatype, source, tag, comm, status), {
                    if (!has_outstanding()) {
                      return next(buffer, count, datatype, source, tag, comm, status);
                    }
                    MPI_Request request = mpi.request_null;
                    return finish(mpi.Irecv(buffer, count, from_raw<MPI_Datatype>(datatype), source, tag,
                                            from_raw<MPI_Comm>(comm), &request),
                                  request, static_cast<MPI_Status*>(status));
                  })

STRETTO_TAKE_OVER(Probe, (int source, int tag, RawHandle comm, void* status), (source, tag, comm, status), {
  if (!has_outstanding()) return next(source, tag, comm, status);
  int result = MPI_SUCCESS;
  wait_until([&] {
    int arrived = 0;
    result = mpi.Iprobe(source, tag, from_raw<MPI_Comm>(comm), &arrived, static_cast<MPI_Status*>(status));
    return result != MPI_SUCCESS || arrived != 0;
  });
  return result;
})

STRETTO_TAKE_OVER(Mprobe, (int source, int tag, RawHandle comm, void* message, void* status),
                  (source, tag, comm, message, status), {
                    if (!has_outstanding()) return next(source, tag, comm, message, status);
                    int result = MPI_SUCCESS;
                    wait_until([&] {
                      int arrived = 0;
                      result = Place<MPI_Message>::of_program(message).through_word([&](MPI_Message* word) {
                        return mpi.Improbe(source, tag, from_raw<MPI_Comm>(comm), &arrived, word,
                                           static_cast<MPI_Status*>(status));
                      });
                      return result != MPI_SUCCESS || arrived != 0;
                    });
                    return result;
                  })

STRETTO_TAKE_OVER(Mrecv, (void* buffer, int count, RawHandle datatype, void* message, void* status),
                  (buffer, count, datatype, message, status), {
                    if (!has_outstanding()) return next(buffer, count, datatype, message, status);
                    MPI_Request request = mpi.request_null;
                    const int started = Place<MPI_Message>::of_program(message).through_word([&](auto* word) {
                      return mpi.Imrecv(buffer, count, from_raw<MPI_Datatype>(datatype), word, &request);
                    });
                    return finish(started, request, static_cast<MPI_Status*>(status));
                  })

STRETTO_TAKE_OVER(Sendrecv,
                  (const void* sendbuf, int sendcount, RawHandle sendtype, int dest, int sendtag,
                   void* recvbuf, int recvcount, RawHandle recvtype, int source, int recvtag, RawHandle comm,
                   void* status),
                  (sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source, recvtag,
                   comm, status),
                  {
                    if (!has_outstanding()) {
                      return next(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype,
                                  source, recvtag, comm, status);
                    }
                    MPI_Request receives = mpi.request_null;
                    MPI_Request sends = mpi.request_null;
                    int error = mpi.Irecv(recvbuf, recvcount, from_raw<MPI_Datatype>(recvtype), source,
                                          recvtag, from_raw<MPI_Comm>(comm), &receives);
                    if (error != MPI_SUCCESS) return error;
                    const int started = mpi.Isend(sendbuf, sendcount, from_raw<MPI_Datatype>(sendtype), dest,
                                                  sendtag, from_raw<MPI_Comm>(comm), &sends);
                    if (started != MPI_SUCCESS) mpi.Cancel(&receives);
                    error = finish(started, sends, mpi.status_ignore);
                    const int received = finish(MPI_SUCCESS, receives, static_cast<MPI_Status*>(status));
                    return error != MPI_SUCCESS ? error : received;
                  })

}  // namespace stretto
