// SPDX-License-Identifier: Apache-2.0
// The parameters of the collectives that Stretto handles, as MPI declares them. The entries, the C
// interface and the functions between them are made from this list.
#pragma once

/// Expands X(Name, Iname, name, iname, collective, (parameters), (arguments)) for each collective. Forms
/// that are not blocking have more parameters, which come last. `Count`, `Datatype`, `Op` and `Comm` are
/// the types of the parameters.
#define STRETTO_COLLECTIVES(X, Count, Datatype, Op, Comm)                                               \
  X(Allreduce, Iallreduce, allreduce, iallreduce, allreduce,                                            \
    (const void* sendbuf, void* recvbuf, Count count, Datatype datatype, Op op, Comm comm),             \
    (sendbuf, recvbuf, count, datatype, op, comm))                                                      \
  X(Bcast, Ibcast, bcast, ibcast, bcast,                                                                \
    (void* buffer, Count count, Datatype datatype, int root, Comm comm),                                \
    (buffer, count, datatype, root, comm))                                                              \
  X(Reduce, Ireduce, reduce, ireduce, reduce,                                                           \
    (const void* sendbuf, void* recvbuf, Count count, Datatype datatype, Op op, int root, Comm comm),   \
    (sendbuf, recvbuf, count, datatype, op, root, comm))                                                \
  X(Reduce_scatter, Ireduce_scatter, reduce_scatter, ireduce_scatter, reduce_scatter,                   \
    (const void* sendbuf, void* recvbuf, const Count* recvcounts, Datatype datatype, Op op, Comm comm), \
    (sendbuf, recvbuf, recvcounts, datatype, op, comm))                                                 \
  X(Reduce_scatter_block, Ireduce_scatter_block, reduce_scatter_block, ireduce_scatter_block,           \
    reduce_scatter,                                                                                     \
    (const void* sendbuf, void* recvbuf, Count recvcount, Datatype datatype, Op op, Comm comm),         \
    (sendbuf, recvbuf, recvcount, datatype, op, comm))                                                  \
  X(Allgather, Iallgather, allgather, iallgather, allgather,                                            \
    (const void* sendbuf, Count sendcount, Datatype sendtype, void* recvbuf, Count recvcount,           \
     Datatype recvtype, Comm comm),                                                                     \
    (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm))

/// The same with raw handles.
#define STRETTO_RAW_COLLECTIVES(X, Count) STRETTO_COLLECTIVES(X, Count, RawDatatype, RawOp, RawComm)
