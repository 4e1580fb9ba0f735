// SPDX-License-Identifier: Apache-2.0
// Collectives of the core itself, and the program's collectives that no schedule carries out: calls on one
// rank, or without data.
#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <string_view>

#include "faces/sockets/functions.hpp"
#include "mpi/places.hpp"
#include "mpi/raw_handle.hpp"

namespace stretto::faces::sockets {
namespace {

std::size_t bytes_in(RawCount count, MPI_Datatype type) {
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

/// Carries out a call that has no schedule: on one rank, whose output is its input, or without data.
int finish_at_once(const void* input, void* output, std::size_t bytes, MPI_Comm comm, void* request) {
  Place<MPI_Request>::of_program(request).store(nullptr);
  if (bytes == 0) return MPI_SUCCESS;
  if (comm->size() > 1) return Error::unsupported;
  if (input != mpi.in_place && input != output) std::memmove(output, input, bytes);
  return MPI_SUCCESS;
}

std::size_t bytes_in(const RawCount* counts, MPI_Datatype type, MPI_Comm comm) {
  std::size_t bytes = 0;
  for (int i = 0; i < comm->size(); ++i) bytes += bytes_in(counts[i], type);
  return bytes;
}

int allreduce_at_once(const void* input, void* output, RawCount count, MPI_Datatype type, MPI_Op /*op*/,
                      MPI_Comm comm, void* request) {
  return finish_at_once(input, output, bytes_in(count, type), comm, request);
}
int reduce_at_once(const void* input, void* output, RawCount count, MPI_Datatype type, MPI_Op /*op*/,
                   int /*root*/, MPI_Comm comm, void* request) {
  return finish_at_once(input, output, bytes_in(count, type), comm, request);
}
int reduce_scatter_at_once(const void* input, void* output, const RawCount* counts, MPI_Datatype type,
                           MPI_Op /*op*/, MPI_Comm comm, void* request) {
  return finish_at_once(input, output, bytes_in(counts, type, comm), comm, request);
}
int bcast_at_once(void* data, RawCount count, MPI_Datatype type, int /*root*/, MPI_Comm comm, void* request) {
  return finish_at_once(data, data, bytes_in(count, type), comm, request);
}
int equal_blocks_at_once(const void* input, RawCount count, MPI_Datatype type, void* output,
                         RawCount /*received*/, MPI_Datatype /*received_type*/, MPI_Comm comm,
                         void* request) {
  return finish_at_once(input, output, bytes_in(count, type), comm, request);
}
int rooted_blocks_at_once(const void* input, RawCount count, MPI_Datatype type, void* output,
                          RawCount /*received*/, MPI_Datatype /*received_type*/, int /*root*/, MPI_Comm comm,
                          void* request) {
  return finish_at_once(input, output, bytes_in(count, type), comm, request);
}
int allgatherv_at_once(const void* input, RawCount /*count*/, MPI_Datatype /*type*/, void* output,
                       const RawCount* counts, const RawCount* /*displacements*/, MPI_Datatype received_type,
                       MPI_Comm comm, void* request) {
  return finish_at_once(input, output, bytes_in(counts, received_type, comm), comm, request);
}
int alltoallv_at_once(const void* input, const RawCount* /*counts*/, const RawCount* /*displacements*/,
                      MPI_Datatype /*type*/, void* output, const RawCount* received,
                      const RawCount* /*received_displacements*/, MPI_Datatype received_type, MPI_Comm comm,
                      void* request) {
  return finish_at_once(input, output, bytes_in(received, received_type, comm), comm, request);
}
int barrier_at_once(MPI_Comm comm, void* request) {
  return finish_at_once(nullptr, nullptr, 0, comm, request);
}

struct Symbol {
  std::string_view name;
  void (*function)();
};
template <typename Function>
Symbol symbol(std::string_view name, Function* function) {
  return {name, reinterpret_cast<void (*)()>(function)};
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

void* find_symbol(const char* name) {
  static const std::array symbols{
      symbol("own:MPI_Iallreduce_c", allreduce_at_once),
      symbol("own:MPI_Ireduce_c", reduce_at_once),
      symbol("own:MPI_Ireduce_scatter_c", reduce_scatter_at_once),
      symbol("own:MPI_Ireduce_scatter_block_c", allreduce_at_once),
      symbol("own:MPI_Ibcast_c", bcast_at_once),
      symbol("own:MPI_Iallgather_c", equal_blocks_at_once),
      symbol("own:MPI_Iallgatherv_c", allgatherv_at_once),
      symbol("own:MPI_Igather_c", rooted_blocks_at_once),
      symbol("own:MPI_Iscatter_c", rooted_blocks_at_once),
      symbol("own:MPI_Ialltoall_c", equal_blocks_at_once),
      symbol("own:MPI_Ialltoallv_c", alltoallv_at_once),
      symbol("own:MPI_Ibarrier_c", barrier_at_once),
  };
  const auto found = std::ranges::find(symbols, std::string_view(name), &Symbol::name);
  return found == symbols.end() ? nullptr : reinterpret_cast<void*>(found->function);
}

}  // namespace stretto::faces::sockets
