// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>

#include "engine/mpi.hpp"
#include "select/spec.hpp"

namespace stretto {

/// The spec that an allreduce of so many bytes by a commutative operation takes; `native` where all is the
/// library's.
Spec choose_spec(std::size_t bytes, MPI_Comm comm);

/// An allreduce by `forced`, or by the choice if that is empty. Empty result: the call is the library's,
/// whose own function must be called with the arguments as they are. Otherwise an MPI error code, already
/// reported through the handler of `comm`.
std::optional<int> try_allreduce(const void* sendbuf, void* recvbuf, std::int64_t count,
                                 MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                                 const std::optional<Spec>& forced);

}  // namespace stretto
