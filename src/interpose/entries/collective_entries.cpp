// SPDX-License-Identifier: Apache-2.0
// The collectives that Stretto carries out, in all their forms: MPI_X, MPI_IX and MPI_X_init; with counts of
// int and, on MPICH's interface, of MPI_Count.
#include "interpose/collectives/collective_forms.hpp"

namespace stretto {
namespace {

Form non_blocking(void* request) {
  return {.face = Face::non_blocking, .request = static_cast<MPI_Request*>(request)};
}

Form persistent(void* request) {
  return {.face = Face::persistent, .request = static_cast<MPI_Request*>(request)};
}

}  // namespace

// One collective in its three forms. MPI_X_init was spelt MPIX_X_init before MPI 4.
#define STRETTO_NARROWED(suffix, name) (sizeof(#suffix) > 1 ? name : nullptr)
#define STRETTO_FORMS_OF(P, Name, Iname, suffix, function, parameters, arguments)                   \
  STRETTO_DEFINE(P##MPI_##Name##suffix, nullptr, STRETTO_NARROWED(suffix, #P "MPI_" #Name),         \
                 (STRETTO_LIST parameters), return function(next, Form{}, STRETTO_LIST arguments);) \
  STRETTO_DEFINE(P##MPI_##Iname##suffix, nullptr, STRETTO_NARROWED(suffix, #P "MPI_" #Iname),       \
                 (STRETTO_LIST parameters, void* request),                                          \
                 return function(next, non_blocking(request), STRETTO_LIST arguments, request);)    \
  STRETTO_DEFINE(P##MPI_##Name##_init##suffix, #P "MPIX_" #Name "_init",                            \
                 STRETTO_NARROWED(suffix, #P "MPI_" #Name "_init"),                                 \
                 (STRETTO_LIST parameters, RawHandle info, void* request),                          \
                 return function(next, persistent(request), STRETTO_LIST arguments, info, request);)
#define STRETTO_FORMS(Name, Iname, suffix, function, parameters, arguments) \
  STRETTO_FORMS_OF(, Name, Iname, suffix, function, parameters, arguments)  \
  STRETTO_FORMS_OF(P, Name, Iname, suffix, function, parameters, arguments)

#define STRETTO_COLLECTIVES(suffix, Count)                                                                 \
  STRETTO_FORMS(                                                                                           \
      Allreduce, Iallreduce, suffix, allreduce,                                                            \
      (const void* sendbuf, void* recvbuf, Count count, RawHandle datatype, RawHandle op, RawHandle comm), \
      (sendbuf, recvbuf, count, datatype, op, comm))                                                       \
  STRETTO_FORMS(Bcast, Ibcast, suffix, bcast,                                                              \
                (void* buffer, Count count, RawHandle datatype, int root, RawHandle comm),                 \
                (buffer, count, datatype, root, comm))                                                     \
  STRETTO_FORMS(Reduce, Ireduce, suffix, reduce,                                                           \
                (const void* sendbuf, void* recvbuf, Count count, RawHandle datatype, RawHandle op,        \
                 int root, RawHandle comm),                                                                \
                (sendbuf, recvbuf, count, datatype, op, root, comm))                                       \
  STRETTO_FORMS(Reduce_scatter, Ireduce_scatter, suffix, reduce_scatter,                                   \
                (const void* sendbuf, void* recvbuf, const Count* recvcounts, RawHandle datatype,          \
                 RawHandle op, RawHandle comm),                                                            \
                (sendbuf, recvbuf, recvcounts, datatype, op, comm))                                        \
  STRETTO_FORMS(Reduce_scatter_block, Ireduce_scatter_block, suffix, reduce_scatter_block,                 \
                (const void* sendbuf, void* recvbuf, Count recvcount, RawHandle datatype, RawHandle op,    \
                 RawHandle comm),                                                                          \
                (sendbuf, recvbuf, recvcount, datatype, op, comm))                                         \
  STRETTO_FORMS(Allgather, Iallgather, suffix, allgather,                                                  \
                (const void* sendbuf, Count sendcount, RawHandle sendtype, void* recvbuf, Count recvcount, \
                 RawHandle recvtype, RawHandle comm),                                                      \
                (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm))

STRETTO_COLLECTIVES(, int)
#ifdef STRETTO_ABI_MPICH
STRETTO_COLLECTIVES(_c, RawCount)
#else
// Open MPI 4 and 5 have no large-count forms, and a program may look whether there are any. Open MPI 4 has
// persistent collectives under the names that they had before MPI 4.
#define STRETTO_PERSISTENT(Name, function, parameters, arguments)                                    \
  STRETTO_DEFINE(MPIX_##Name##_init, nullptr, nullptr,                                               \
                 (STRETTO_LIST parameters, RawHandle info, void* request),                           \
                 return function(next, persistent(request), STRETTO_LIST arguments, info, request);) \
  STRETTO_DEFINE(PMPIX_##Name##_init, nullptr, nullptr,                                              \
                 (STRETTO_LIST parameters, RawHandle info, void* request),                           \
                 return function(next, persistent(request), STRETTO_LIST arguments, info, request);)
STRETTO_PERSISTENT(Allreduce, allreduce,
                   (const void* sendbuf, void* recvbuf, int count, RawHandle datatype, RawHandle op,
                    RawHandle comm),
                   (sendbuf, recvbuf, count, datatype, op, comm))
STRETTO_PERSISTENT(Bcast, bcast, (void* buffer, int count, RawHandle datatype, int root, RawHandle comm),
                   (buffer, count, datatype, root, comm))
STRETTO_PERSISTENT(Reduce, reduce,
                   (const void* sendbuf, void* recvbuf, int count, RawHandle datatype, RawHandle op, int root,
                    RawHandle comm),
                   (sendbuf, recvbuf, count, datatype, op, root, comm))
STRETTO_PERSISTENT(Reduce_scatter, reduce_scatter,
                   (const void* sendbuf, void* recvbuf, const int* recvcounts, RawHandle datatype,
                    RawHandle op, RawHandle comm),
                   (sendbuf, recvbuf, recvcounts, datatype, op, comm))
STRETTO_PERSISTENT(Reduce_scatter_block, reduce_scatter_block,
                   (const void* sendbuf, void* recvbuf, int recvcount, RawHandle datatype, RawHandle op,
                    RawHandle comm),
                   (sendbuf, recvbuf, recvcount, datatype, op, comm))
STRETTO_PERSISTENT(Allgather, allgather,
                   (const void* sendbuf, int sendcount, RawHandle sendtype, void* recvbuf, int recvcount,
                    RawHandle recvtype, RawHandle comm),
                   (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm))
#endif

}  // namespace stretto
