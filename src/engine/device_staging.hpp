// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "engine/buffer_pool.hpp"
#include "engine/execution.hpp"

namespace stretto {

/// Whether the process has loaded a driver of devices. Takes some ten nanoseconds.
bool may_have_device_memory();

/// Copies bytes, each side in host or in device memory. Throws std::runtime_error if the driver cannot copy.
void copy_anywhere(void* into, const void* from, std::size_t bytes);

/// Stages the buffers of a call that are in device (GPU) memory through host memory, by copies of the CUDA
/// driver. The driver is used only if the process has already loaded it. Ranks may differ in where their
/// buffers are, so staging never affects the choice of an algorithm: each rank stages for itself.
class DeviceStaging {
 public:
  /// Replaces device buffers of `call` by host buffers and copies the input. May be called again with the
  /// same call, and gives the same host buffers then. Throws std::bad_alloc, and std::runtime_error if the
  /// driver cannot copy.
  void stage(Call& call);

  /// Copies the result to where the program wants it. Throws std::runtime_error if the driver cannot copy.
  void copy_result_back();

  /// A transfer that failed may still write to the host buffers.
  void abandon() {
    input_.abandon();
    output_.abandon();
  }

 private:
  void* users_output_ = nullptr;  // as the program gave it, if it is device memory
  void* staged_output_ = nullptr;
  std::size_t output_bytes_ = 0;
  std::ptrdiff_t output_start_ = 0;  // of the data, from the address that the program gave
  PooledBuffer input_;
  PooledBuffer output_;
};

}  // namespace stretto
