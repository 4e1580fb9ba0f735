// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dlfcn.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace stretto::test {

/// Memory of the first device, by functions that every CUDA driver has: the driver of a GPU, and the stand-in
/// (tests/interpose/cuda_stand_in.cpp). An error ends the program.
class DeviceMemory {
 public:
  DeviceMemory(void* driver, std::size_t bytes) : driver_(driver), bytes_(bytes) {
    const Current current(*this);
    call<int(std::uint64_t*, std::size_t)>("cuMemAlloc_v2", &address_, std::max<std::size_t>(bytes, 1));
  }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  ~DeviceMemory() {
    const Current current(*this);
    call<int(std::uint64_t)>("cuMemFree_v2", address_);
  }

  [[nodiscard]] void* address() const { return reinterpret_cast<void*>(address_); }

  void put(const void* host) const {
    if (bytes_ == 0) return;
    const Current current(*this);
    call<int(std::uint64_t, const void*, std::size_t)>("cuMemcpyHtoD_v2", address_, host, bytes_);
  }
  void get(void* host) const {
    if (bytes_ == 0) return;
    const Current current(*this);
    call<int(void*, std::uint64_t, std::size_t)>("cuMemcpyDtoH_v2", host, address_, bytes_);
  }
  /// Pins host memory of this size, so that copies from and to it are fast.
  void pin(void* host) const {
    const Current current(*this);
    call<int(void*, std::size_t, unsigned)>("cuMemHostRegister_v2", host, bytes_, 0U);
  }

 private:
  struct Current {
    explicit Current(const DeviceMemory& memory) : its(memory) {
      its.call<int(void*)>("cuCtxPushCurrent_v2", its.primary_context());
    }
    Current(const Current&) = delete;
    Current& operator=(const Current&) = delete;
    ~Current() {
      void* context = nullptr;
      its.call<int(void**)>("cuCtxPopCurrent_v2", &context);
    }
    const DeviceMemory& its;
  };

  [[nodiscard]] void* primary_context() const {
    static void* const context = [this] {
      int device = 0;
      void* its = nullptr;
      call<int(unsigned)>("cuInit", 0U);
      call<int(int*, int)>("cuDeviceGet", &device, 0);
      call<int(void**, int)>("cuDevicePrimaryCtxRetain", &its, device);
      return its;
    }();
    return context;
  }

  template <typename Function, typename... Arguments>
  void call(const char* name, Arguments... arguments) const {
    auto* const function = reinterpret_cast<Function*>(dlsym(driver_, name));
    const int error = function == nullptr ? -1 : function(arguments...);
    if (error == 0) return;
    std::fprintf(stderr, "%s: error %d of the CUDA driver\n", name, error);
    std::abort();
  }

  void* driver_;
  std::size_t bytes_;
  std::uint64_t address_ = 0;
};

}  // namespace stretto::test
