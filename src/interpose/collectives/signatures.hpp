// SPDX-License-Identifier: Apache-2.0
// The collectives that Stretto handles: their parameters, as MPI declares them, and the place of each
// parameter in the record of a call. The entries, the C interface and the functions between them are made
// from this list.
#pragma once

#include "interpose/dispatch/program_call.hpp"
#include "mpi/raw_handle.hpp"

namespace stretto {

inline BufferArgument one_block(const void* address, std::int64_t count, MPI_Datatype datatype) {
  return {.address = address, .count = count, .datatype = datatype};
}
inline BufferArgument all_blocks(const void* address, Numbers counts, Numbers displacements,
                                 MPI_Datatype datatype) {
  return {.address = address, .counts = counts, .displacements = displacements, .datatype = datatype};
}
inline BufferArgument all_blocks(const void* address, Numbers counts, Numbers displacements,
                                 RawDatatypes datatypes) {
  return {.address = address, .counts = counts, .displacements = displacements, .datatypes = datatypes};
}
inline BufferArgument no_buffer() {
  return {.exists = false};
}
constexpr MPI_Op no_op{};

inline ProgramCall record_of(MpiFunction function, const FormArguments& form_arguments, MPI_Comm comm,
                             const BufferArgument& sent, const BufferArgument& received, MPI_Op op,
                             int root) {
  ProgramCall program_call{.function = function,
                           .form = form_arguments.form,
                           .sent = sent,
                           .received = received,
                           .op = op,
                           .root = root,
                           .comm = comm,
                           .request = Place<MPI_Request>::of_program(form_arguments.request)};
  if (form_arguments.forced != nullptr) program_call.forced = *form_arguments.forced;
  return program_call;
}

}  // namespace stretto

/// Expands X(Name, Iname, name, iname, (parameters), (arguments), (sent, received, op, root)) for each
/// collective with counts. Forms that are not blocking have more parameters, which come last. `Count` is the
/// type of counts and displacements: MPI_Aint, which large-count forms have for displacements, is the same as
/// MPI_Count.
#define STRETTO_COUNTED_COLLECTIVES(X, Count)                                                                \
  X(Allreduce, Iallreduce, allreduce, iallreduce,                                                            \
    (const void* sendbuf, void* recvbuf, Count count, RawDatatype datatype, RawOp op, RawComm comm),         \
    (sendbuf, recvbuf, count, datatype, op, comm),                                                           \
    (one_block(sendbuf, count, datatype), one_block(recvbuf, count, datatype), op, 0))                       \
  X(Bcast, Ibcast, bcast, ibcast, (void* buffer, Count count, RawDatatype datatype, int root, RawComm comm), \
    (buffer, count, datatype, root, comm), (no_buffer(), one_block(buffer, count, datatype), no_op, root))   \
  X(Reduce, Ireduce, reduce, ireduce,                                                                        \
    (const void* sendbuf, void* recvbuf, Count count, RawDatatype datatype, RawOp op, int root,              \
     RawComm comm),                                                                                          \
    (sendbuf, recvbuf, count, datatype, op, root, comm),                                                     \
    (one_block(sendbuf, count, datatype), one_block(recvbuf, count, datatype), op, root))                    \
  X(Reduce_scatter, Ireduce_scatter, reduce_scatter, ireduce_scatter,                                        \
    (const void* sendbuf, void* recvbuf, const Count* recvcounts, RawDatatype datatype, RawOp op,            \
     RawComm comm),                                                                                          \
    (sendbuf, recvbuf, recvcounts, datatype, op, comm),                                                      \
    (all_blocks(sendbuf, recvcounts, {}, datatype), all_blocks(recvbuf, recvcounts, {}, datatype), op, 0))   \
  X(Reduce_scatter_block, Ireduce_scatter_block, reduce_scatter_block, ireduce_scatter_block,                \
    (const void* sendbuf, void* recvbuf, Count recvcount, RawDatatype datatype, RawOp op, RawComm comm),     \
    (sendbuf, recvbuf, recvcount, datatype, op, comm),                                                       \
    (one_block(sendbuf, recvcount, datatype), one_block(recvbuf, recvcount, datatype), op, 0))               \
  X(Allgather, Iallgather, allgather, iallgather,                                                            \
    (const void* sendbuf, Count sendcount, RawDatatype sendtype, void* recvbuf, Count recvcount,             \
     RawDatatype recvtype, RawComm comm),                                                                    \
    (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm),                                      \
    (one_block(sendbuf, sendcount, sendtype), one_block(recvbuf, recvcount, recvtype), no_op, 0))            \
  X(Allgatherv, Iallgatherv, allgatherv, iallgatherv,                                                        \
    (const void* sendbuf, Count sendcount, RawDatatype sendtype, void* recvbuf, const Count* recvcounts,     \
     const Count* displs, RawDatatype recvtype, RawComm comm),                                               \
    (sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm),                             \
    (one_block(sendbuf, sendcount, sendtype), all_blocks(recvbuf, recvcounts, displs, recvtype), no_op, 0))  \
  X(Alltoall, Ialltoall, alltoall, ialltoall,                                                                \
    (const void* sendbuf, Count sendcount, RawDatatype sendtype, void* recvbuf, Count recvcount,             \
     RawDatatype recvtype, RawComm comm),                                                                    \
    (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm),                                      \
    (one_block(sendbuf, sendcount, sendtype), one_block(recvbuf, recvcount, recvtype), no_op, 0))            \
  X(Alltoallv, Ialltoallv, alltoallv, ialltoallv,                                                            \
    (const void* sendbuf, const Count* sendcounts, const Count* sdispls, RawDatatype sendtype,               \
     void* recvbuf, const Count* recvcounts, const Count* rdispls, RawDatatype recvtype, RawComm comm),      \
    (sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm),                  \
    (all_blocks(sendbuf, sendcounts, sdispls, sendtype), all_blocks(recvbuf, recvcounts, rdispls, recvtype), \
     no_op, 0))                                                                                              \
  X(Alltoallw, Ialltoallw, alltoallw, ialltoallw,                                                            \
    (const void* sendbuf, const Count* sendcounts, const Count* sdispls, RawDatatypes sendtypes,             \
     void* recvbuf, const Count* recvcounts, const Count* rdispls, RawDatatypes recvtypes, RawComm comm),    \
    (sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm),                \
    (all_blocks(sendbuf, sendcounts, sdispls, sendtypes),                                                    \
     all_blocks(recvbuf, recvcounts, rdispls, recvtypes), no_op, 0))                                         \
  X(Gather, Igather, gather, igather,                                                                        \
    (const void* sendbuf, Count sendcount, RawDatatype sendtype, void* recvbuf, Count recvcount,             \
     RawDatatype recvtype, int root, RawComm comm),                                                          \
    (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm),                                \
    (one_block(sendbuf, sendcount, sendtype), one_block(recvbuf, recvcount, recvtype), no_op, root))         \
  X(Gatherv, Igatherv, gatherv, igatherv,                                                                    \
    (const void* sendbuf, Count sendcount, RawDatatype sendtype, void* recvbuf, const Count* recvcounts,     \
     const Count* displs, RawDatatype recvtype, int root, RawComm comm),                                     \
    (sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, root, comm),                       \
    (one_block(sendbuf, sendcount, sendtype), all_blocks(recvbuf, recvcounts, displs, recvtype), no_op,      \
     root))                                                                                                  \
  X(Scatter, Iscatter, scatter, iscatter,                                                                    \
    (const void* sendbuf, Count sendcount, RawDatatype sendtype, void* recvbuf, Count recvcount,             \
     RawDatatype recvtype, int root, RawComm comm),                                                          \
    (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm),                                \
    (one_block(sendbuf, sendcount, sendtype), one_block(recvbuf, recvcount, recvtype), no_op, root))         \
  X(Scatterv, Iscatterv, scatterv, iscatterv,                                                                \
    (const void* sendbuf, const Count* sendcounts, const Count* displs, RawDatatype sendtype, void* recvbuf, \
     Count recvcount, RawDatatype recvtype, int root, RawComm comm),                                         \
    (sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype, root, comm),                       \
    (all_blocks(sendbuf, sendcounts, displs, sendtype), one_block(recvbuf, recvcount, recvtype), no_op,      \
     root))                                                                                                  \
  X(Scan, Iscan, scan, iscan,                                                                                \
    (const void* sendbuf, void* recvbuf, Count count, RawDatatype datatype, RawOp op, RawComm comm),         \
    (sendbuf, recvbuf, count, datatype, op, comm),                                                           \
    (one_block(sendbuf, count, datatype), one_block(recvbuf, count, datatype), op, 0))                       \
  X(Exscan, Iexscan, exscan, iexscan,                                                                        \
    (const void* sendbuf, void* recvbuf, Count count, RawDatatype datatype, RawOp op, RawComm comm),         \
    (sendbuf, recvbuf, count, datatype, op, comm),                                                           \
    (one_block(sendbuf, count, datatype), one_block(recvbuf, count, datatype), op, 0))

/// Expands X(...) for each collective, with counts or without.
#define STRETTO_COLLECTIVES(X, Count)   \
  STRETTO_COUNTED_COLLECTIVES(X, Count) \
  X(Barrier, Ibarrier, barrier, ibarrier, (RawComm comm), (comm), (no_buffer(), no_buffer(), no_op, 0))
