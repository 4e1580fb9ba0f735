// SPDX-License-Identifier: Apache-2.0
// A stand-in for the CUDA driver (libcuda.so.1). A program that accesses its "device memory" crashes. Only
// the copy functions can access it, by a second mapping.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>

namespace {

struct Area {
  std::size_t bytes;
  char* reachable;
};
std::mutex mutex;
std::map<std::uintptr_t, Area> areas;
int copies = 0;
thread_local int pushed = 0;
int context = 0;

constexpr int success = 0;
constexpr int invalid_value = 1;
constexpr int invalid_context = 201;

/// Returns where the processor can access `address`; nullptr if these bytes are not device memory.
char* reach(std::uint64_t address, std::size_t bytes) {
  const std::lock_guard lock(mutex);
  auto after = areas.upper_bound(address);
  if (after == areas.begin()) return nullptr;
  const auto& [start, area] = *--after;
  return address + bytes <= start + area.bytes ? area.reachable + (address - start) : nullptr;
}

int copy(void* into, const void* from, std::size_t bytes) {
  if (into == nullptr || from == nullptr) return invalid_value;
  if (pushed == 0) return invalid_context;
  std::memcpy(into, from, bytes);
  ++copies;
  return success;
}

}  // namespace

#define VISIBLE extern "C" __attribute__((visibility("default")))

VISIBLE int cuPointerGetAttribute(void* value, int attribute, std::uint64_t address) {
  if (reach(address, 1) == nullptr) return invalid_value;
  void* our_context = &context;
  const unsigned device = 2;
  const unsigned no = 0;
  switch (attribute) {
    case 1:
      std::memcpy(value, static_cast<const void*>(&our_context), sizeof(our_context));
      return success;
    case 2:
      std::memcpy(value, &device, sizeof(device));
      return success;
    case 8:
      std::memcpy(value, &no, sizeof(no));
      return success;
    default:
      return invalid_value;
  }
}
VISIBLE int cuMemcpyDtoH_v2(void* into, std::uint64_t from, std::size_t bytes) {
  return copy(into, reach(from, bytes), bytes);
}
VISIBLE int cuMemcpyHtoD_v2(std::uint64_t into, const void* from, std::size_t bytes) {
  return copy(reach(into, bytes), from, bytes);
}
VISIBLE int cuCtxPushCurrent_v2(void* which) {
  if (which != &context) return invalid_value;
  ++pushed;
  return success;
}
VISIBLE int cuCtxPopCurrent_v2(void** which) {
  if (pushed == 0) return invalid_context;
  --pushed;
  *which = &context;
  return success;
}

// For the test itself.
VISIBLE void* stand_in_allocate(std::size_t bytes) {
  const int file = memfd_create("device memory", 0);
  if (file < 0 || ftruncate(file, static_cast<off_t>(bytes)) != 0) return nullptr;
  void* device = mmap(nullptr, bytes, PROT_NONE, MAP_SHARED, file, 0);
  void* reachable = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (device == MAP_FAILED || reachable == MAP_FAILED) return nullptr;
  const std::lock_guard lock(mutex);
  areas[reinterpret_cast<std::uintptr_t>(device)] = {bytes, static_cast<char*>(reachable)};
  return device;
}
VISIBLE char* stand_in_reach(void* device) {
  return reach(reinterpret_cast<std::uintptr_t>(device), 1);
}
VISIBLE int stand_in_copies() {
  return copies;
}
VISIBLE int stand_in_pushed() {
  return pushed;
}
