// SPDX-License-Identifier: Apache-2.0
// Calls on device memory that the MPI library carries out, if it takes host memory only. It gets copies in
// host memory, and the results go back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "engine/device/device_memory.hpp"
#include "engine/device/gpu_awareness.hpp"
#include "mpi/places.hpp"
#include "select/form.hpp"

namespace stretto {

/// Elements of a buffer.
struct TouchedElements {
  std::int64_t place = 0;  // bytes from the buffer's address to where the first element begins
  std::int64_t count = 0;
  MPI_Datatype datatype{};
  MPI_Aint extent = 0;
  MPI_Aint true_lower_bound = 0;
};

/// Bytes of a buffer, from the first one that a call touches to the last one.
struct TouchedBytes {
  const void* buffer = nullptr;       // as MPI gets it; may be MPI_BOTTOM
  std::ptrdiff_t first = 0;           // from there
  std::size_t bytes = 0;              // 0: the call does not touch it
  std::vector<TouchedElements> data;  // where it touches these bytes; empty: all of them
};

struct LibraryBuffers {
  TouchedBytes input;
  TouchedBytes output;
  bool reads_output = false;  // as in place
  bool is_message = false;    // which may be shorter than the output
};

/// Whether a call of the library may have to be staged. Takes some twenty nanoseconds if the process has
/// loaded no driver.
inline bool may_need_staging() {
  return !library_is_gpu_aware() && may_have_device_memory();
}

/// Carries a call out by call(input, output), the library's function with these buffers (nullptr: the
/// program's own), if a buffer is in device memory; otherwise does nothing, and the result is empty. The
/// library writes its request to `request`, which becomes one of Stretto's. Returns an MPI error code,
/// already reported to the handler of `comm`.
std::optional<int> stage_for_library(const LibraryBuffers& buffers, Form form, Place<MPI_Request> request,
                                     MPI_Comm comm,
                                     const std::function<int(const void* input, void* output)>& call);

}  // namespace stretto
