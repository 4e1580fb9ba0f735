// SPDX-License-Identifier: Apache-2.0
// Calls whose buffers are in device memory.
#pragma once

#include <dlfcn.h>

#include <algorithm>
#include <thread>

#include "../device_memory.hpp"
#include "engine/staging/device_staging.hpp"
#include "mpi_check.hpp"

namespace stretto::test {

inline void* driver = nullptr;

/// Loads a driver: that of a GPU, or the stand-in, whose copies will be late.
inline void load_driver(const char* path) {
  driver = dlopen(path, RTLD_LAZY);
  STRETTO_CHECK(driver != nullptr);
  if (const auto be_late = reinterpret_cast<void (*)(int)>(dlsym(driver, "stand_in_be_late"))) be_late(1);
}

/// While it lives, the contents of a vector are in device memory.
class OnDevice {
 public:
  OnDevice(void* host, std::size_t bytes) : host_(static_cast<std::byte*>(host)), device_(driver, bytes) {
    device_.put(host_);
    std::fill_n(host_, bytes, std::byte{0x77});
  }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;
  ~OnDevice() { device_.get(host_); }

  /// Returns where an address in the vector is on the device.
  [[nodiscard]] void* at(const void* address) const {
    return static_cast<std::byte*>(device_.address()) + (static_cast<const std::byte*>(address) - host_);
  }

 private:
  std::byte* host_;
  DeviceMemory device_;
};

/// Carries out a call whose buffers may be in device memory, as an operation does.
inline int run_staged(Execution& execution, const Call& users, CopyObserver* observer = nullptr) {
  DeviceStaging staging;
  staging.observe(observer);
  staging.note(users);
  while (!staging.may_begin()) std::this_thread::yield();
  Call call = users;
  staging.stage(call, execution.staged_input() == StagedInput::by_segments);
  while (execution.staged_input() == StagedInput::at_start && staging.is_staged() && staging.arrived() == 0)
    std::this_thread::yield();
  const int error = run_to_end(execution, call);
  if (error == MPI_SUCCESS) staging.finish();
  while (!staging.has_ended()) std::this_thread::yield();
  STRETTO_CHECK(!staging.has_failed());
  return error;
}

}  // namespace stretto::test
