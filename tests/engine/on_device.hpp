// SPDX-License-Identifier: Apache-2.0
// Calls whose buffers are in device memory, by the stand-in of the driver
// (tests/interpose/cuda_stand_in.cpp).
#pragma once

#include <dlfcn.h>

#include <cstring>
#include <thread>

#include "engine/staging/device_staging.hpp"
#include "mpi_check.hpp"

namespace stretto::test {

inline void* driver = nullptr;
template <typename Function>
Function from_driver(const char* name) {
  const auto function = reinterpret_cast<Function>(dlsym(driver, name));
  STRETTO_CHECK(function != nullptr);
  return function;
}

inline void load_driver(const char* path) {
  driver = dlopen(path, RTLD_LAZY);
  STRETTO_CHECK(driver != nullptr);
  from_driver<void (*)(int)>("stand_in_be_late")(1);
}

/// While it lives, the contents of a vector are in device memory.
class OnDevice {
 public:
  OnDevice(void* host, std::size_t bytes)
      : host_(static_cast<std::byte*>(host)),
        bytes_(bytes),
        device_(from_driver<void* (*)(std::size_t)>("stand_in_allocate")(bytes)) {
    reachable_ = from_driver<char* (*)(void*)>("stand_in_reach")(device_);
    std::memcpy(reachable_, host_, bytes_);
    std::memset(host_, 0x77, bytes_);
  }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;
  ~OnDevice() {
    std::memcpy(host_, reachable_, bytes_);
    from_driver<void (*)(void*)>("stand_in_free")(device_);
  }

  /// Returns where an address in the vector is on the device.
  [[nodiscard]] void* at(const void* address) const {
    return static_cast<std::byte*>(device_) + (static_cast<const std::byte*>(address) - host_);
  }

 private:
  std::byte* host_;
  std::size_t bytes_;
  void* device_;
  char* reachable_;
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
