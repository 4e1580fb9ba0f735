// SPDX-License-Identifier: Apache-2.0
// Buffers in device memory, by the stand-in of the driver.
#pragma once

#include <dlfcn.h>

#include <cstring>
#include <vector>

#include "check.hpp"

inline void* driver = nullptr;
template <typename Function>
Function from_driver(const char* name) {
  const auto function = reinterpret_cast<Function>(dlsym(driver, name));
  CHECK(function != nullptr, name);
  return function;
}

/// A buffer, in device memory or not, whose `data` can be accessed.
struct Buffer {
  Buffer(std::size_t bytes, bool on_device, const char* allocate = "stand_in_allocate")
      : memory(on_device ? 0 : bytes), is_on_device(on_device) {
    address = memory.data();
    data = memory.data();
    if (on_device) {
      address = from_driver<void* (*)(std::size_t)>(allocate)(bytes);
      data = from_driver<char* (*)(void*)>("stand_in_reach")(address);
    }
    CHECK(data != nullptr);
    std::memset(data, 0x5a, bytes);
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() {
    if (is_on_device) from_driver<void (*)(void*)>("stand_in_free")(address);
  }
  std::vector<char> memory;
  bool is_on_device;
  void* address;
  char* data;
};
