// SPDX-License-Identifier: Apache-2.0
// The parameters of the collectives that Stretto handles, as MPI declares them. The entries, the C
// interface and the functions between them are made from this list.
#pragma once

#include "interpose/session/raw_handle.hpp"

/// Expands X(Name, Iname, name, iname, collective, (parameters), (arguments)) for each collective with
/// counts. Forms that are not blocking have more parameters, which come last. `Count` is the type of counts and
/// displacements: MPI_Aint, which large-count forms have for displacements, is the same as MPI_Count.
#define STRETTO_COUNTED_COLLECTIVES(X, Count)                                          \
  X(Allreduce, Iallreduce, allreduce, iallreduce, allreduce,                                               \
    (const void* sendbuf, void* recvbuf, Count count, RawDatatype datatype, RawOp op, RawComm comm),                \
    (sendbuf, recvbuf, count, datatype, op, comm))                                                         \
  X(Bcast, Ibcast, bcast, ibcast, bcast,                                                                   \
    (void* buffer, Count count, RawDatatype datatype, int root, RawComm comm),                                   \
    (buffer, count, datatype, root, comm))                                                                 \
  X(Reduce, Ireduce, reduce, ireduce, reduce,                                                              \
    (const void* sendbuf, void* recvbuf, Count count, RawDatatype datatype, RawOp op, int root, RawComm comm),      \
    (sendbuf, recvbuf, count, datatype, op, root, comm))                                                   \
  X(Reduce_scatter, Ireduce_scatter, reduce_scatter, ireduce_scatter, reduce_scatter,                      \
    (const void* sendbuf, void* recvbuf, const Count* recvcounts, RawDatatype datatype, RawOp op, RawComm comm),    \
    (sendbuf, recvbuf, recvcounts, datatype, op, comm))                                                    \
  X(Reduce_scatter_block, Ireduce_scatter_block, reduce_scatter_block, ireduce_scatter_block,              \
    reduce_scatter,                                                                                        \
    (const void* sendbuf, void* recvbuf, Count recvcount, RawDatatype datatype, RawOp op, RawComm comm),            \
    (sendbuf, recvbuf, recvcount, datatype, op, comm))                                                     \
  X(Allgather, Iallgather, allgather, iallgather, allgather,                                               \
    (const void* sendbuf, Count sendcount, RawDatatype sendtype, void* recvbuf, Count recvcount,              \
     RawDatatype recvtype, RawComm comm),                                                                        \
    (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm))                                    \
  X(Allgatherv, Iallgatherv, allgatherv, iallgatherv, allgather,                                           \
    (const void* sendbuf, Count sendcount, RawDatatype sendtype, void* recvbuf, const Count* recvcounts,      \
     const Count* displs, RawDatatype recvtype, RawComm comm),                                                   \
    (sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm))                           \
  X(Alltoall, Ialltoall, alltoall, ialltoall, alltoall,                                                    \
    (const void* sendbuf, Count sendcount, RawDatatype sendtype, void* recvbuf, Count recvcount,              \
     RawDatatype recvtype, RawComm comm),                                                                        \
    (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm))                                    \
  X(Alltoallv, Ialltoallv, alltoallv, ialltoallv, alltoallv,                                               \
    (const void* sendbuf, const Count* sendcounts, const Count* sdispls, RawDatatype sendtype, void* recvbuf, \
     const Count* recvcounts, const Count* rdispls, RawDatatype recvtype, RawComm comm),                         \
    (sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm))                \
  X(Alltoallw, Ialltoallw, alltoallw, ialltoallw, alltoallv,                                               \
    (const void* sendbuf, const Count* sendcounts, const Count* sdispls, RawDatatypes sendtypes,    \
     void* recvbuf, const Count* recvcounts, const Count* rdispls, RawDatatypes recvtypes,          \
     RawComm comm),                                                                                           \
    (sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm))              \
  X(Gather, Igather, gather, igather, gather,                                                              \
    (const void* sendbuf, Count sendcount, RawDatatype sendtype, void* recvbuf, Count recvcount,              \
     RawDatatype recvtype, int root, RawComm comm),                                                              \
    (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm))                              \
  X(Gatherv, Igatherv, gatherv, igatherv, gatherv,                                                         \
    (const void* sendbuf, Count sendcount, RawDatatype sendtype, void* recvbuf, const Count* recvcounts,      \
     const Count* displs, RawDatatype recvtype, int root, RawComm comm),                                         \
    (sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, root, comm))                     \
  X(Scatter, Iscatter, scatter, iscatter, scatter,                                                         \
    (const void* sendbuf, Count sendcount, RawDatatype sendtype, void* recvbuf, Count recvcount,              \
     RawDatatype recvtype, int root, RawComm comm),                                                              \
    (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm))                              \
  X(Scatterv, Iscatterv, scatterv, iscatterv, scatterv,                                                    \
    (const void* sendbuf, const Count* sendcounts, const Count* displs, RawDatatype sendtype, void* recvbuf,  \
     Count recvcount, RawDatatype recvtype, int root, RawComm comm),                                             \
    (sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype, root, comm))                     \
  X(Scan, Iscan, scan, iscan, scan,                                                                        \
    (const void* sendbuf, void* recvbuf, Count count, RawDatatype datatype, RawOp op, RawComm comm),                \
    (sendbuf, recvbuf, count, datatype, op, comm))                                                         \
  X(Exscan, Iexscan, exscan, iexscan, exscan,                                                              \
    (const void* sendbuf, void* recvbuf, Count count, RawDatatype datatype, RawOp op, RawComm comm),                \
    (sendbuf, recvbuf, count, datatype, op, comm))

/// The same for each collective.
#define STRETTO_COLLECTIVES(X, Count)   \
  STRETTO_COUNTED_COLLECTIVES(X, Count) \
  X(Barrier, Ibarrier, barrier, ibarrier, barrier, (RawComm comm), (comm))
