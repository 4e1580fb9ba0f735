// SPDX-License-Identifier: Apache-2.0
#include "engine/native_pipeline.hpp"

#include <new>

#include "engine/patience.hpp"

namespace stretto {
namespace {

#ifdef STRETTO_ABI_OPENMPI
constexpr bool copy_in_place_input = true;
#else
constexpr bool copy_in_place_input = false;
#endif

}  // namespace

int NativePipeline::run(const Call& call) {
  try {
    return run_segments(call);
  } catch (const std::bad_alloc&) {
    return MPI_ERR_NO_MEM;
  }
}

int NativePipeline::run_segments(const Call& call) {
  const Element& element = call.element;
  const std::size_t count = pipelining_.count(call.count, static_cast<std::size_t>(element.size));
  const Partition segments(call.count, count);
  requests_.assign(count, mpi.request_null);

  const bool in_place = call.input == call.output;
  const bool copy = in_place && copy_in_place_input;
  const PooledBuffer memory(copy ? element.span(call.count) : 0);
  std::byte* copied = element.place(memory.data(), call.count);

  for (std::size_t i = 0; i < count; ++i) {
    const Range part = segments.run(i);
    const std::ptrdiff_t offset = static_cast<std::ptrdiff_t>(part.first) * element.extent;
    std::byte* output = static_cast<std::byte*>(call.output) + offset;
    const void* input = static_cast<const std::byte*>(call.input) + offset;
    if (copy) {
      if (const int error = element.copy(copied + offset, input, part.count); error != MPI_SUCCESS)
        return error;
      input = copied + offset;
    } else if (in_place) {
      input = MPI_IN_PLACE;
    }
    const int error = mpi.Iallreduce(input, output, static_cast<int>(part.count), element.datatype,
                                     element.op, comm_, &requests_[i]);
    if (error != MPI_SUCCESS) return error;
  }

  Patience patience;
  for (int done = 0;;) {
    const int error = mpi.Testall(static_cast<int>(count), requests_.data(), &done, MPI_STATUSES_IGNORE);
    if (error != MPI_SUCCESS || done != 0) return error;
    patience.fruitless();
  }
}

}  // namespace stretto
