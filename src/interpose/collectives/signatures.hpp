// SPDX-License-Identifier: Apache-2.0
// The parameters of the collectives that Stretto handles, as MPI declares them. The entries, the C
// interface and the functions between them are made from this list.
#pragma once

/// Expands X(Name, Iname, name, iname, collective, (parameters), (arguments)) for each collective with
/// counts. Forms that are not blocking have more parameters, which come last. `Count`, `Datatype`, `Op` and
/// `Comm` are the types of the parameters. MPI_Aint, which large-count forms have for displacements, is the
/// same as MPI_Count.
#define STRETTO_COUNTED_COLLECTIVES(X, Count, Datatype, Op, Comm)                                          \
  X(Allreduce, Iallreduce, allreduce, iallreduce, allreduce,                                               \
    (const void* sendbuf, void* recvbuf, Count count, Datatype datatype, Op op, Comm comm),                \
    (sendbuf, recvbuf, count, datatype, op, comm))                                                         \
  X(Bcast, Ibcast, bcast, ibcast, bcast,                                                                   \
    (void* buffer, Count count, Datatype datatype, int root, Comm comm),                                   \
    (buffer, count, datatype, root, comm))                                                                 \
  X(Reduce, Ireduce, reduce, ireduce, reduce,                                                              \
    (const void* sendbuf, void* recvbuf, Count count, Datatype datatype, Op op, int root, Comm comm),      \
    (sendbuf, recvbuf, count, datatype, op, root, comm))                                                   \
  X(Reduce_scatter, Ireduce_scatter, reduce_scatter, ireduce_scatter, reduce_scatter,                      \
    (const void* sendbuf, void* recvbuf, const Count* recvcounts, Datatype datatype, Op op, Comm comm),    \
    (sendbuf, recvbuf, recvcounts, datatype, op, comm))                                                    \
  X(Reduce_scatter_block, Ireduce_scatter_block, reduce_scatter_block, ireduce_scatter_block,              \
    reduce_scatter,                                                                                        \
    (const void* sendbuf, void* recvbuf, Count recvcount, Datatype datatype, Op op, Comm comm),            \
    (sendbuf, recvbuf, recvcount, datatype, op, comm))                                                     \
  X(Allgather, Iallgather, allgather, iallgather, allgather,                                               \
    (const void* sendbuf, Count sendcount, Datatype sendtype, void* recvbuf, Count recvcount,              \
     Datatype recvtype, Comm comm),                                                                        \
    (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm))                                    \
  X(Allgatherv, Iallgatherv, allgatherv, iallgatherv, allgather,                                           \
    (const void* sendbuf, Count sendcount, Datatype sendtype, void* recvbuf, const Count* recvcounts,      \
     const Count* displs, Datatype recvtype, Comm comm),                                                   \
    (sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm))                           \
  X(Alltoall, Ialltoall, alltoall, ialltoall, alltoall,                                                    \
    (const void* sendbuf, Count sendcount, Datatype sendtype, void* recvbuf, Count recvcount,              \
     Datatype recvtype, Comm comm),                                                                        \
    (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm))                                    \
  X(Alltoallv, Ialltoallv, alltoallv, ialltoallv, alltoallv,                                               \
    (const void* sendbuf, const Count* sendcounts, const Count* sdispls, Datatype sendtype, void* recvbuf, \
     const Count* recvcounts, const Count* rdispls, Datatype recvtype, Comm comm),                         \
    (sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm))                \
  X(Alltoallw, Ialltoallw, alltoallw, ialltoallw, alltoallv,                                               \
    (const void* sendbuf, const Count* sendcounts, const Count* sdispls, const MPI_Datatype* sendtypes,    \
     void* recvbuf, const Count* recvcounts, const Count* rdispls, const MPI_Datatype* recvtypes,          \
     Comm comm),                                                                                           \
    (sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm))              \
  X(Gather, Igather, gather, igather, gather,                                                              \
    (const void* sendbuf, Count sendcount, Datatype sendtype, void* recvbuf, Count recvcount,              \
     Datatype recvtype, int root, Comm comm),                                                              \
    (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm))                              \
  X(Gatherv, Igatherv, gatherv, igatherv, gatherv,                                                         \
    (const void* sendbuf, Count sendcount, Datatype sendtype, void* recvbuf, const Count* recvcounts,      \
     const Count* displs, Datatype recvtype, int root, Comm comm),                                         \
    (sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, root, comm))                     \
  X(Scatter, Iscatter, scatter, iscatter, scatter,                                                         \
    (const void* sendbuf, Count sendcount, Datatype sendtype, void* recvbuf, Count recvcount,              \
     Datatype recvtype, int root, Comm comm),                                                              \
    (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm))                              \
  X(Scatterv, Iscatterv, scatterv, iscatterv, scatterv,                                                    \
    (const void* sendbuf, const Count* sendcounts, const Count* displs, Datatype sendtype, void* recvbuf,  \
     Count recvcount, Datatype recvtype, int root, Comm comm),                                             \
    (sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype, root, comm))                     \
  X(Scan, Iscan, scan, iscan, scan,                                                                        \
    (const void* sendbuf, void* recvbuf, Count count, Datatype datatype, Op op, Comm comm),                \
    (sendbuf, recvbuf, count, datatype, op, comm))                                                         \
  X(Exscan, Iexscan, exscan, iexscan, exscan,                                                              \
    (const void* sendbuf, void* recvbuf, Count count, Datatype datatype, Op op, Comm comm),                \
    (sendbuf, recvbuf, count, datatype, op, comm))

/// The same for each collective.
#define STRETTO_COLLECTIVES(X, Count, Datatype, Op, Comm)   \
  STRETTO_COUNTED_COLLECTIVES(X, Count, Datatype, Op, Comm) \
  X(Barrier, Ibarrier, barrier, ibarrier, barrier, (Comm comm), (comm))

/// The same with raw handles.
#define STRETTO_RAW_COLLECTIVES(X, Count) STRETTO_COLLECTIVES(X, Count, RawDatatype, RawOp, RawComm)
#define STRETTO_RAW_COUNTED_COLLECTIVES(X, Count) \
  STRETTO_COUNTED_COLLECTIVES(X, Count, RawDatatype, RawOp, RawComm)
