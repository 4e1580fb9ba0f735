// SPDX-License-Identifier: Apache-2.0
// Calls on device memory that the MPI library carries out although it takes host memory only. The library
// gets copies in host memory, and the results are copied back.
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
  std::int64_t place = 0;  // bytes from the buffer's address to the beginning of the first element
  std::int64_t count = 0;
  MPI_Datatype datatype{};
  MPI_Aint extent = 0;
  MPI_Aint true_lower_bound = 0;
};

/// Bytes of a buffer, from the first one that a call touches to the last one.
struct TouchedBytes {
  const void* buffer = nullptr;       // as MPI gets it; may be MPI_BOTTOM
  std::ptrdiff_t first = 0;           // bytes from there
  std::size_t bytes = 0;              // 0: the call does not touch it
  std::vector<TouchedElements> data;  // where it touches these bytes; empty: all of them
};

struct LibraryBuffers {
  TouchedBytes input;
  TouchedBytes output;
  bool reads_output = false;  // as in place
  bool is_message = false;    // whether the output gets a message, which may be shorter
};

/// Whether a call of the MPI library may have to be staged. Takes some twenty nanoseconds if the process has
/// loaded no driver.
inline bool may_need_staging() {
  return !library_is_gpu_aware() && may_have_device_memory();
}

/// Carries a call out if one of its buffers is in device memory; otherwise does nothing, and the result is
/// empty. call(input, output) calls the library's function with these buffers (nullptr: the program's own).
/// The library writes its request to `request`, where one of Stretto's then replaces it. Returns an MPI error
/// code, already reported to the handler of `comm`.
std::optional<int> stage_for_library(const LibraryBuffers& buffers, Form form, Place<MPI_Request> request,
                                     MPI_Comm comm,
                                     const std::function<int(const void* input, void* output)>& call);

}  // namespace stretto
