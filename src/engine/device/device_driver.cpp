// SPDX-License-Identifier: Apache-2.0
#include "engine/device/device_driver.hpp"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <mutex>

#include "engine/device/host_memory.hpp"
#include "threads/spin_lock.hpp"

namespace stretto {
namespace {

// Values of CUpointer_attribute and CUmemorytype in cuda.h.
constexpr int attribute_context = 1;
constexpr int attribute_memory_type = 2;
constexpr int attribute_is_managed = 8;
constexpr int attribute_device_ordinal = 9;
constexpr unsigned memory_type_device = 2;

std::atomic<bool> is_ready{false};
std::atomic<bool> is_forked{false};

std::uint64_t libraries_loaded_so_far() {
  std::uint64_t loads = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t /*size*/, void* result) {
        *static_cast<std::uint64_t*>(result) = info->dlpi_adds;
        return 1;  // every object has the same number
      },
      &loads);
  return loads;
}

/// Whether the processor can read a byte; also true where the system does not say.
bool can_access(const void* pointer) {
  char byte = 0;
  const iovec into{.iov_base = &byte, .iov_len = 1};
  const iovec from{.iov_base = const_cast<void*>(pointer), .iov_len = 1};
  return process_vm_readv(getpid(), &into, 1, &from, 1, 0) == 1 || errno != EFAULT;
}

template <typename Function>
bool find(Function& function, void* library, const char* name) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

}  // namespace

const DeviceDriver* DeviceDriver::loaded() {
  static DeviceDriver driver;
  static std::atomic<std::uint64_t> looked_at{0};
  if (is_ready.load(std::memory_order_acquire)) return &driver;
  if (is_forked.load(std::memory_order_relaxed)) return nullptr;
  // A search for a library that is not loaded takes 20 µs. To see that none was loaded since takes a fraction
  // of a microsecond.
  const std::uint64_t loads = libraries_loaded_so_far();
  if (looked_at.load(std::memory_order_relaxed) == loads) return nullptr;
  if (void* library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD); library != nullptr) {
    static const bool complete = driver.find_functions(library);
    if (complete) {
      static const int handler = pthread_atfork(nullptr, nullptr, [] {
        is_forked = true;
        is_ready = false;
      });
      static_cast<void>(handler);
      is_ready.store(true, std::memory_order_release);
      return &driver;
    }
  }
  looked_at.store(loads, std::memory_order_relaxed);
  return nullptr;
}

bool DeviceDriver::find_functions(void* library) {
  find(context_of_stream, library, "cuStreamGetCtx");
  return find(pointer_attributes, library, "cuPointerGetAttributes") &&
         find(to_host, library, "cuMemcpyDtoH_v2") && find(to_device, library, "cuMemcpyHtoD_v2") &&
         find(push_context, library, "cuCtxPushCurrent_v2") &&
         find(pop_context, library, "cuCtxPopCurrent_v2") &&
         find(to_host_async, library, "cuMemcpyDtoHAsync_v2") &&
         find(to_device_async, library, "cuMemcpyHtoDAsync_v2") &&
         find(copy_2d_async, library, "cuMemcpy2DAsync_v2") &&
         find(make_stream, library, "cuStreamCreateWithPriority") &&
         find(stream_priorities, library, "cuCtxGetStreamPriorityRange") &&
         find(make_event, library, "cuEventCreate") && find(record_event, library, "cuEventRecord") &&
         find(query_event, library, "cuEventQuery") && find(register_host, library, "cuMemHostRegister_v2") &&
         find(unregister_host, library, "cuMemHostUnregister") && find(device, library, "cuDeviceGet") &&
         find(retain_context, library, "cuDevicePrimaryCtxRetain");
}

int DeviceDriver::ask(const void* pointer, Facts& facts) const {
  constexpr std::array attributes{attribute_memory_type, attribute_is_managed, attribute_context,
                                  attribute_device_ordinal};
  std::array<void*, attributes.size()> values{&facts.type, &facts.is_managed,
                                              static_cast<void*>(&facts.context), &facts.ordinal};
  return pointer_attributes(attributes.size(), attributes.data(), values.data(), device_address(pointer));
}

DeviceDriver::MemoryKind DeviceDriver::find_kind(const void* pointer, int& error) const {
  if (is_surely_host_memory(pointer)) return MemoryKind::host;
  Facts facts;
  error = ask(pointer, facts);
  if (error == success && facts.type == 0) error = invalid_value;
  if (error != success) return MemoryKind::unknown;
  return facts.type == memory_type_device && facts.is_managed == 0 ? MemoryKind::device : MemoryKind::host;
}

bool DeviceDriver::is_device_memory(const void* pointer) const {
  int error = success;
  const MemoryKind place = find_kind(pointer, error);
  return place == MemoryKind::device ||
         (place == MemoryKind::unknown && error != invalid_value && !can_access(pointer));
}

bool DeviceDriver::knows(const void* pointer) const {
  Facts facts;
  return ask(pointer, facts) == success && facts.type != 0;
}

DeviceDriver::MemoryKind DeviceDriver::kind_of(const void* pointer, int& error) const {
  const MemoryKind place = find_kind(pointer, error);
  return place == MemoryKind::unknown && can_access(pointer) ? MemoryKind::host : place;
}

DeviceDriver::Context DeviceDriver::context_of(const void* pointer) const {
  Facts facts;
  if (ask(pointer, facts) != success) return nullptr;
  if (facts.context != nullptr) return facts.context;
  // Memory of a pool, and memory that is mapped by pieces, belong to a device and to no context.
  if (facts.type == 0 || facts.ordinal < 0) return nullptr;
  static SpinLock lock;
  static std::array<Context, 64> primary{};  // retained once, for good
  const auto ordinal = static_cast<std::size_t>(facts.ordinal);
  if (ordinal >= primary.size()) return nullptr;
  const std::lock_guard guard(lock);
  Context& retained = primary.at(ordinal);
  int handle = 0;
  if (retained == nullptr &&
      (device(&handle, facts.ordinal) != success || retain_context(&retained, handle) != success))
    retained = nullptr;
  return retained;
}

}  // namespace stretto
