// SPDX-License-Identifier: Apache-2.0
// The program's collectives, each by `forced`, or by the choice if that is empty. Empty result: the call is
// the library's, whose own function must be called with the arguments as they are. Otherwise an MPI error
// code, already reported through the handler of `comm`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "engine/mpi.hpp"
#include "select/spec.hpp"

namespace stretto {

std::optional<int> try_allreduce(const void* sendbuf, void* recvbuf, std::int64_t count,
                                 MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                                 const std::optional<Spec>& forced);

std::optional<int> try_reduce(const void* sendbuf, void* recvbuf, std::int64_t count, MPI_Datatype datatype,
                              MPI_Op op, int root, MPI_Comm comm, const std::optional<Spec>& forced);

/// Count is int or MPI_Count.
template <typename Count>
std::optional<int> try_reduce_scatter(const void* sendbuf, void* recvbuf, const Count* recvcounts,
                                      MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                                      const std::optional<Spec>& forced);

std::optional<int> try_reduce_scatter_block(const void* sendbuf, void* recvbuf, std::int64_t recvcount,
                                            MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                                            const std::optional<Spec>& forced);

std::optional<int> try_bcast(void* buffer, std::int64_t count, MPI_Datatype datatype, int root, MPI_Comm comm,
                             const std::optional<Spec>& forced);

std::optional<int> try_allgather(const void* sendbuf, std::int64_t sendcount, MPI_Datatype sendtype,
                                 void* recvbuf, std::int64_t recvcount, MPI_Datatype recvtype, MPI_Comm comm,
                                 const std::optional<Spec>& forced);

}  // namespace stretto
