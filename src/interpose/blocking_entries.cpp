// SPDX-License-Identifier: Apache-2.0
// MPI's other functions that may wait for another rank: while they do, outstanding operations go on. Where
// there is a non-blocking form, it takes the call, and this thread makes progress itself; otherwise the
// helper thread does. (A native collective must stay what it is: MPI does not match MPI_Ibarrier with
// MPI_Barrier, and other ranks may have nothing outstanding.) Functions that are not here are found out by
// the helper's tick.
#include <array>

#include "interpose/entry.hpp"
#include "interpose/progress.hpp"
#include "interpose/requests.hpp"
#include "interpose/session.hpp"

namespace stretto {
namespace {

/// Waits for a request as the function would that it stands for; `started`: whether that could be started.
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

#define STRETTO_SEND(name, start)                                                                     \
  STRETTO_TAKE_OVER(                                                                                  \
      name, (const void* buffer, int count, RawHandle datatype, int dest, int tag, RawHandle comm), { \
        if (!has_outstanding() || next.was_looked_at()) {                                             \
          return next(buffer, count, datatype, dest, tag, comm);                                      \
        }                                                                                             \
        MPI_Request request = mpi.request_null;                                                       \
        return finish(mpi.start(buffer, count, from_raw<MPI_Datatype>(datatype), dest, tag,           \
                                from_raw<MPI_Comm>(comm), &request),                                  \
                      request, MPI_STATUS_IGNORE);                                                    \
      })
STRETTO_SEND(Send, Isend)
STRETTO_SEND(Ssend, Issend)
STRETTO_SEND(Rsend, Irsend)

STRETTO_TAKE_OVER(
    Recv, (void* buffer, int count, RawHandle datatype, int source, int tag, RawHandle comm, void* status), {
      if (!has_outstanding() || next.was_looked_at()) {
        return next(buffer, count, datatype, source, tag, comm, status);
      }
      MPI_Request request = mpi.request_null;
      return finish(mpi.Irecv(buffer, count, from_raw<MPI_Datatype>(datatype), source, tag,
                              from_raw<MPI_Comm>(comm), &request),
                    request, static_cast<MPI_Status*>(status));
    })

STRETTO_TAKE_OVER(Probe, (int source, int tag, RawHandle comm, void* status), {
  if (!has_outstanding() || next.was_looked_at()) return next(source, tag, comm, status);
  int result = MPI_SUCCESS;
  wait_until([&] {
    int arrived = 0;
    result = mpi.Iprobe(source, tag, from_raw<MPI_Comm>(comm), &arrived, static_cast<MPI_Status*>(status));
    return result != MPI_SUCCESS || arrived != 0;
  });
  return result;
})

STRETTO_TAKE_OVER(Mprobe, (int source, int tag, RawHandle comm, void* message, void* status), {
  if (!has_outstanding() || next.was_looked_at()) return next(source, tag, comm, message, status);
  int result = MPI_SUCCESS;
  wait_until([&] {
    int arrived = 0;
    result = mpi.Improbe(source, tag, from_raw<MPI_Comm>(comm), &arrived, static_cast<MPI_Message*>(message),
                         static_cast<MPI_Status*>(status));
    return result != MPI_SUCCESS || arrived != 0;
  });
  return result;
})

STRETTO_TAKE_OVER(Mrecv, (void* buffer, int count, RawHandle datatype, void* message, void* status), {
  if (!has_outstanding() || next.was_looked_at()) return next(buffer, count, datatype, message, status);
  MPI_Request request = mpi.request_null;
  return finish(mpi.Imrecv(buffer, count, from_raw<MPI_Datatype>(datatype),
                           static_cast<MPI_Message*>(message), &request),
                request, static_cast<MPI_Status*>(status));
})

STRETTO_TAKE_OVER(Sendrecv,
                  (const void* sendbuf, int sendcount, RawHandle sendtype, int dest, int sendtag,
                   void* recvbuf, int recvcount, RawHandle recvtype, int source, int recvtag, RawHandle comm,
                   void* status),
                  {
                    if (!has_outstanding() || next.was_looked_at()) {
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
                    error = finish(started, sends, MPI_STATUS_IGNORE);
                    const int received = finish(MPI_SUCCESS, receives, static_cast<MPI_Status*>(status));
                    return error != MPI_SUCCESS ? error : received;
                  })

// Arguments as they stand in registers and on the stack, whatever they mean: a word each.
using Word = RawHandle;
#define STRETTO_HELPED(name, parameters, arguments) \
  STRETTO_TAKE_OVER(name, parameters, {             \
    const WaitingElsewhere elsewhere;               \
    return next arguments;                          \
  })
#define STRETTO_HELPED_1(name) STRETTO_HELPED(name, (Word a), (a))
#define STRETTO_HELPED_2(name) STRETTO_HELPED(name, (Word a, Word b), (a, b))
#define STRETTO_HELPED_3(name) STRETTO_HELPED(name, (Word a, Word b, Word c), (a, b, c))
#define STRETTO_HELPED_4(name) STRETTO_HELPED(name, (Word a, Word b, Word c, Word d), (a, b, c, d))
#define STRETTO_HELPED_6(name) \
  STRETTO_HELPED(name, (Word a, Word b, Word c, Word d, Word e, Word f), (a, b, c, d, e, f))
#define STRETTO_HELPED_7(name) \
  STRETTO_HELPED(name, (Word a, Word b, Word c, Word d, Word e, Word f, Word g), (a, b, c, d, e, f, g))
#define STRETTO_HELPED_8(name)                                                           \
  STRETTO_HELPED(name, (Word a, Word b, Word c, Word d, Word e, Word f, Word g, Word h), \
                 (a, b, c, d, e, f, g, h))
#define STRETTO_HELPED_9(name)                                                                   \
  STRETTO_HELPED(name, (Word a, Word b, Word c, Word d, Word e, Word f, Word g, Word h, Word i), \
                 (a, b, c, d, e, f, g, h, i))

STRETTO_HELPED_1(Barrier)
STRETTO_HELPED_8(Gather)
STRETTO_HELPED_9(Gatherv)
STRETTO_HELPED_8(Scatter)
STRETTO_HELPED_9(Scatterv)
STRETTO_HELPED_8(Allgatherv)
STRETTO_HELPED_7(Alltoall)
STRETTO_HELPED_9(Alltoallv)
STRETTO_HELPED_9(Alltoallw)
STRETTO_HELPED_6(Scan)
STRETTO_HELPED_6(Exscan)
STRETTO_HELPED_9(Sendrecv_replace)
STRETTO_HELPED_2(Comm_dup)
STRETTO_HELPED_3(Comm_create)
STRETTO_HELPED_4(Comm_split)
STRETTO_HELPED_2(Win_fence)
STRETTO_HELPED_1(Win_wait)
STRETTO_HELPED_1(Win_complete)
STRETTO_HELPED_2(Win_unlock)
STRETTO_HELPED_2(Win_flush)

#ifdef STRETTO_ABI_MPICH
// Persistent collectives of which the library must be left the waiting (requests.hpp). The request comes
// last.
#define STRETTO_NOTED(name, parameters, arguments, request)                       \
  STRETTO_TAKE_OVER(name, parameters, {                                           \
    const int result = next arguments;                                            \
    if (result == MPI_SUCCESS && session.active) {                                \
      note_persistent_of_library(*reinterpret_cast<const MPI_Request*>(request)); \
    }                                                                             \
    return result;                                                                \
  })
#define STRETTO_NOTED_8(name)                                                           \
  STRETTO_NOTED(name, (Word a, Word b, Word c, Word d, Word e, Word f, Word g, Word h), \
                (a, b, c, d, e, f, g, h), h)
#define STRETTO_NOTED_10(name)                                                                          \
  STRETTO_NOTED(name, (Word a, Word b, Word c, Word d, Word e, Word f, Word g, Word h, Word i, Word j), \
                (a, b, c, d, e, f, g, h, i, j), j)
#define STRETTO_NOTED_11(name)                                                                            \
  STRETTO_NOTED(name,                                                                                     \
                (Word a, Word b, Word c, Word d, Word e, Word f, Word g, Word h, Word i, Word j, Word k), \
                (a, b, c, d, e, f, g, h, i, j, k), k)

STRETTO_NOTED(Barrier_init, (Word a, Word b, Word c), (a, b, c), c)
STRETTO_NOTED_10(Gather_init)
STRETTO_NOTED_11(Gatherv_init)
STRETTO_NOTED_10(Scatter_init)
STRETTO_NOTED_11(Scatterv_init)
STRETTO_NOTED_10(Allgatherv_init)
STRETTO_NOTED(Alltoall_init, (Word a, Word b, Word c, Word d, Word e, Word f, Word g, Word h, Word i),
              (a, b, c, d, e, f, g, h, i), i)
STRETTO_NOTED_11(Alltoallv_init)
STRETTO_NOTED_11(Alltoallw_init)
STRETTO_NOTED_8(Scan_init)
STRETTO_NOTED_8(Exscan_init)
#endif

}  // namespace stretto
