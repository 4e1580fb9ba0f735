// SPDX-License-Identifier: Apache-2.0
// Collectives of the core itself.
#include <cstring>
#include <memory>

#include "faces/sockets/functions.hpp"

namespace stretto::faces::sockets {
namespace {

std::size_t bytes_in(int count, MPI_Datatype type) {
  return static_cast<std::size_t>(count) * type->bytes;
}

int start(std::unique_ptr<ShortCall> call, MPI_Comm comm, MPI_Request* request) {
  *request = new OpaqueRequest;
  (*request)->comm = comm;
  (*request)->call = std::move(call);
  (*request)->is_active = true;
  return MPI_SUCCESS;
}

std::unique_ptr<ShortCall> reduce_to_all(const void* input, void* output, int count, MPI_Datatype type,
                                         MPI_Op op, MPI_Comm comm) {
  const std::size_t bytes = bytes_in(count, type);
  if (input != mpi.in_place && bytes > 0) std::memcpy(output, input, bytes);
  const auto size = static_cast<std::ptrdiff_t>(type->bytes);
  // Functions::Reduce_local() does it.
  const Element element{.datatype = type, .op = op, .size = size, .extent = size, .true_extent = size};
  return ShortCall::allreduce(*comm, output, static_cast<std::size_t>(count), element);
}

}  // namespace

int Functions::Allreduce(const void* input, void* output, int count, MPI_Datatype type, MPI_Op op,
                         MPI_Comm comm) {
  return run(reduce_to_all(input, output, count, type, op, comm));
}

int Functions::Iallreduce(const void* input, void* output, int count, MPI_Datatype type, MPI_Op op,
                          MPI_Comm comm, MPI_Request* request) {
  return start(reduce_to_all(input, output, count, type, op, comm), comm, request);
}

int Functions::Bcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  return run(ShortCall::bcast(*comm, data, bytes_in(count, type), root));
}

int Functions::Ibcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm comm,
                      MPI_Request* request) {
  return start(ShortCall::bcast(*comm, data, bytes_in(count, type), root), comm, request);
}

int Functions::Allgather(const void* input, int count, MPI_Datatype type, void* output, int /*received*/,
                         MPI_Datatype /*received_type*/, MPI_Comm comm) {
  const std::size_t bytes = bytes_in(count, type);
  const void* const part =
      input == mpi.in_place ? static_cast<std::byte*>(output) + static_cast<std::size_t>(comm->rank) * bytes
                            : input;
  return run(ShortCall::allgather(*comm, part, bytes, output));
}

}  // namespace stretto::faces::sockets
