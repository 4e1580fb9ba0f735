// SPDX-License-Identifier: Apache-2.0
#include "engine/device/device_memory.hpp"

#include <sched.h>

#include <cstring>
#include <stdexcept>

#include "engine/device/device_copies.hpp"
#include "engine/device/device_driver.hpp"
#include "engine/device/device_stream.hpp"

namespace stretto {
namespace {

void require(int status, const char* what) {
  if (status != DeviceDriver::success) throw std::runtime_error(describe_copy_error(status, what));
}

}  // namespace

std::string describe_copy_error(int error, const char* what) {
  return std::string("the CUDA driver could not copy ") + what + " (error " + std::to_string(error) + ")";
}

bool may_have_device_memory() {
  return DeviceDriver::loaded() != nullptr;
}

bool is_in_device_memory(const void* pointer) {
  const DeviceDriver* driver = DeviceDriver::loaded();
  return driver != nullptr && driver->is_device_memory(pointer);
}

bool is_known_to_driver(const void* pointer) {
  const DeviceDriver* driver = DeviceDriver::loaded();
  return driver != nullptr && driver->knows(pointer);
}

bool concerns_device(const void* input, const void* output) {
  const DeviceDriver* driver = DeviceDriver::loaded();
  return driver != nullptr &&
         (follows_other_stream() || driver->is_device_memory(input) || driver->is_device_memory(output));
}

void copy_anywhere(void* into, const void* from, std::size_t bytes) {
  if (bytes == 0) return;
  const DeviceDriver* driver = DeviceDriver::loaded();
  const bool from_device = is_in_device_memory(from);
  const bool into_device = is_in_device_memory(into);
  if (!from_device && !into_device) {
    std::memcpy(into, from, bytes);
    return;
  }
  // A copy from a device to itself or to another one goes by way of the host.
  PooledBuffer between(from_device && into_device ? bytes : 0);
  void* const host = between.data() != nullptr ? between.data() : into;
  if (from_device) {
    const ContextGuard guard(*driver, driver->context_of(from));
    require(driver->to_host(host, device_address(from), bytes), "from device memory");
  }
  if (into_device) {
    const ContextGuard guard(*driver, driver->context_of(into));
    require(driver->to_device_at_once(device_address(into), from_device ? host : from, bytes),
            "to device memory");
  }
}

void copy_runs_to_device(void* device, PooledBuffer& host, std::span<const Range> runs) {
  const DeviceDriver* driver = DeviceDriver::loaded();
  if (driver == nullptr || runs.empty()) return;
  const DeviceDriver::Context context = driver->context_of(device);
  // Like a synchronous copy, this waits for the default stream, which may still use that memory.
  StreamEvent event;
  int error = event.record(*driver, context, DeviceDriver::default_stream());
  while (!event.has_come(*driver, error)) sched_yield();
  require(error, "to device memory");
  DeviceCopies copies;
  copies.begin(*driver, context, CopyDirection::to_device);
  copies.begin_unit({});
  copies.add_runs(device, host.data(), runs);
  copies.end_unit();
  while (!copies.is_idle()) sched_yield();
  if (copies.may_still_run()) host.abandon();
  require(copies.error(), "to device memory");
}

}  // namespace stretto
