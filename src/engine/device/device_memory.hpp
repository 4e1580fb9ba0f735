// SPDX-License-Identifier: Apache-2.0
// Functions that tell which memory is a device's, and copies for which the calling thread waits.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "engine/data/buffer_pool.hpp"
#include "schedule/partition.hpp"

namespace stretto {

/// Whether the process has loaded a driver of devices. Takes some ten nanoseconds.
bool may_have_device_memory();

/// Whether bytes are in device memory that only copies of the driver can access, as far as the driver says.
bool is_in_device_memory(const void* pointer);
/// Whether the driver knows memory, of a device or of the host.
bool is_known_to_driver(const void* pointer);

/// Whether a call with these buffers has to be staged, or to wait for a stream. Takes some ten nanoseconds if
/// the process has loaded no driver.
bool concerns_device(const void* input, const void* output);

/// Copies bytes between any two places in host or device memory, and waits. Throws std::runtime_error if the
/// driver cannot copy.
void copy_anywhere(void* into, const void* from, std::size_t bytes);

/// Copies runs of bytes to device memory, and waits. The runs count from both addresses. Throws
/// std::runtime_error if the driver cannot copy; `host` is abandoned then if copies may still read it.
void copy_runs_to_device(void* device, PooledBuffer& host, std::span<const Range> runs);

/// Returns a text about an error of the driver. `what`: "from device memory" or "to device memory".
std::string describe_copy_error(int error, const char* what);

}  // namespace stretto
