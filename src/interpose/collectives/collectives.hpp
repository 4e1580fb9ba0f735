// SPDX-License-Identifier: Apache-2.0
// The program's collectives. If the result is empty, the library must carry the call out, by its own
// function with unchanged arguments (`form` says whether it is counted). Otherwise it is an MPI error
// code, already reported to the handler of `comm`. After a success, a non-blocking or persistent call has
// its request.
#pragma once

#include <cstdint>
#include <optional>

#include "interpose/dispatch/form.hpp"
#include "interpose/session/raw_handle.hpp"

namespace stretto {

std::optional<int> try_allreduce(Form& form, const void* sendbuf, void* recvbuf, std::int64_t count,
                                 MPI_Datatype datatype, MPI_Op op, MPI_Comm comm);

std::optional<int> try_reduce(Form& form, const void* sendbuf, void* recvbuf, std::int64_t count,
                              MPI_Datatype datatype, MPI_Op op, int root, MPI_Comm comm);

/// `Count` is int or MPI_Count.
template <typename Count>
std::optional<int> try_reduce_scatter(Form& form, const void* sendbuf, void* recvbuf, const Count* recvcounts,
                                      MPI_Datatype datatype, MPI_Op op, MPI_Comm comm);

std::optional<int> try_reduce_scatter_block(Form& form, const void* sendbuf, void* recvbuf,
                                            std::int64_t recvcount, MPI_Datatype datatype, MPI_Op op,
                                            MPI_Comm comm);

std::optional<int> try_bcast(Form& form, void* buffer, std::int64_t count, MPI_Datatype datatype, int root,
                             MPI_Comm comm);

std::optional<int> try_allgather(Form& form, const void* sendbuf, std::int64_t sendcount,
                                 MPI_Datatype sendtype, void* recvbuf, std::int64_t recvcount,
                                 MPI_Datatype recvtype, MPI_Comm comm);

template <typename Count>
std::optional<int> try_allgatherv(Form& form, const void* sendbuf, std::int64_t sendcount,
                                  MPI_Datatype sendtype, void* recvbuf, const Count* recvcounts,
                                  const Count* displs, MPI_Datatype recvtype, MPI_Comm comm);

std::optional<int> try_alltoall(Form& form, const void* sendbuf, std::int64_t sendcount,
                                MPI_Datatype sendtype, void* recvbuf, std::int64_t recvcount,
                                MPI_Datatype recvtype, MPI_Comm comm);

template <typename Count>
std::optional<int> try_alltoallv(Form& form, const void* sendbuf, const Count* sendcounts,
                                 const Count* sdispls, MPI_Datatype sendtype, void* recvbuf,
                                 const Count* recvcounts, const Count* rdispls, MPI_Datatype recvtype,
                                 MPI_Comm comm);

template <typename Count>
std::optional<int> try_alltoallw(Form& form, const void* sendbuf, const Count* sendcounts,
                                 const Count* sdispls, RawDatatypes sendtypes, void* recvbuf,
                                 const Count* recvcounts, const Count* rdispls, RawDatatypes recvtypes,
                                 MPI_Comm comm);

std::optional<int> try_gather(Form& form, const void* sendbuf, std::int64_t sendcount, MPI_Datatype sendtype,
                              void* recvbuf, std::int64_t recvcount, MPI_Datatype recvtype, int root,
                              MPI_Comm comm);

template <typename Count>
std::optional<int> try_gatherv(Form& form, const void* sendbuf, std::int64_t sendcount, MPI_Datatype sendtype,
                               void* recvbuf, const Count* recvcounts, const Count* displs,
                               MPI_Datatype recvtype, int root, MPI_Comm comm);

std::optional<int> try_scatter(Form& form, const void* sendbuf, std::int64_t sendcount, MPI_Datatype sendtype,
                               void* recvbuf, std::int64_t recvcount, MPI_Datatype recvtype, int root,
                               MPI_Comm comm);

template <typename Count>
std::optional<int> try_scatterv(Form& form, const void* sendbuf, const Count* sendcounts, const Count* displs,
                                MPI_Datatype sendtype, void* recvbuf, std::int64_t recvcount,
                                MPI_Datatype recvtype, int root, MPI_Comm comm);

std::optional<int> try_scan(Form& form, const void* sendbuf, void* recvbuf, std::int64_t count,
                            MPI_Datatype datatype, MPI_Op op, MPI_Comm comm);

std::optional<int> try_exscan(Form& form, const void* sendbuf, void* recvbuf, std::int64_t count,
                              MPI_Datatype datatype, MPI_Op op, MPI_Comm comm);

std::optional<int> try_barrier(Form& form, MPI_Comm comm);

}  // namespace stretto
