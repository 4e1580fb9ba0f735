// SPDX-License-Identifier: Apache-2.0
#include "engine/data/element.hpp"

#include "engine/data/buffer_pool.hpp"
#include "engine/data/self_message.hpp"

namespace stretto {

int Element::copy(void* into, const void* from, std::size_t count) const {
  if (count == 0 || into == from) return MPI_SUCCESS;
  if (contiguous()) {
    static const kernels::Copy copy_bytes = kernels::find_copy();
    copy_bytes(into, from, count * static_cast<std::size_t>(extent));
    return MPI_SUCCESS;
  }
  const int elements = static_cast<int>(count);
  return copy_by_message(from, elements, datatype, into, elements, datatype);
}

int Element::stream(void* into, const void* from, std::size_t count) const {
  if (count == 0 || !contiguous()) return copy(into, from, count);
  static const kernels::Copy stream_bytes = kernels::find_streaming_copy();
  stream_bytes(into, from, count * static_cast<std::size_t>(extent));
  return MPI_SUCCESS;
}

int Element::reduce(void* into, const void* left, const void* right, std::size_t count) const {
  if (count == 0) return MPI_SUCCESS;
  if (kernel != nullptr) {
    kernel(into, left, right, count);
    return MPI_SUCCESS;
  }
  // MPI_Reduce_local computes inout ← in op inout, so the right operand must be in the place of the result.
  if (into != left) {
    if (const int error = copy(into, right, count); error != MPI_SUCCESS) return error;
    return reduce_by_library(left, false, into, count);
  }
  const PooledBuffer spare(span(count));
  std::byte* result = place(spare.data(), count);
  if (const int error = copy(result, right, count); error != MPI_SUCCESS) return error;
  if (const int error = reduce_by_library(left, true, result, count); error != MPI_SUCCESS) return error;
  return copy(into, result, count);
}

int Element::reduce_arrived(void* into, std::byte* landing, bool landing_is_left, const void* with,
                            std::size_t count) const {
  if (kernel != nullptr) {
    return landing_is_left ? reduce(into, landing, with, count) : reduce(into, with, landing, count);
  }
  if (landing_is_left) {
    if (const int error = copy(into, with, count); error != MPI_SUCCESS) return error;
    return reduce_by_library(landing, true, into, count);
  }
  if (const int error = reduce_by_library(with, with == into, landing, count); error != MPI_SUCCESS)
    return error;
  return copy(into, landing, count);
}

int Element::reduce_by_library(const void* left, bool may_spoil_left, void* right, std::size_t count) const {
  const int elements = static_cast<int>(count);
  if (!calls_program || may_spoil_left) return mpi.Reduce_local(left, right, elements, datatype, op);
  const PooledBuffer own(span(count));
  std::byte* const operand = place(own.data(), count);
  if (const int error = copy(operand, left, count); error != MPI_SUCCESS) return error;
  return mpi.Reduce_local(operand, right, elements, datatype, op);
}

}  // namespace stretto
