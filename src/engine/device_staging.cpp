// SPDX-License-Identifier: Apache-2.0
#include "engine/device_staging.hpp"

#include <dlfcn.h>
#include <link.h>
#include <algorithm>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>

namespace stretto {
namespace {

/// The few functions of the CUDA driver (cuda.h, "Memory Management" and "Unified Addressing") that staging
/// needs. They are declared here so that the build does not need CUDA.
struct Driver {
  using Address = std::uint64_t;
  static constexpr int success = 0;
  static constexpr int attribute_context = 1;
  static constexpr int attribute_memory_type = 2;
  static constexpr int attribute_is_managed = 8;
  static constexpr unsigned memory_type_device = 2;

  int (*pointer_attribute)(void* value, int attribute, Address pointer) = nullptr;
  int (*to_host)(void* host, Address device, std::size_t bytes) = nullptr;
  int (*to_device)(Address device, const void* host, std::size_t bytes) = nullptr;
  int (*push_context)(void* context) = nullptr;
  int (*pop_context)(void** context) = nullptr;

  /// Returns nullptr while the process has loaded no driver.
  static const Driver* loaded() {
    static Driver driver;
    static std::atomic<bool> ready{false};
    static std::atomic<std::uint64_t> looked_at{0};
    if (ready.load(std::memory_order_acquire)) return &driver;
    // A search for a library that is not loaded takes 20 µs. Seeing that none was loaded since takes a
    // fraction of one.
    const std::uint64_t loads = libraries_loaded_so_far();
    if (looked_at.load(std::memory_order_relaxed) == loads) return nullptr;
    if (void* library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD); library != nullptr) {
      static const bool complete = driver.find_functions(library);
      if (complete) {
        ready.store(true, std::memory_order_release);
        return &driver;
      }
    }
    looked_at.store(loads, std::memory_order_relaxed);
    return nullptr;
  }

  [[nodiscard]] bool is_device_memory(const void* pointer) const {
    const auto address = reinterpret_cast<Address>(pointer);
    unsigned managed = 0;
    if (pointer_attribute(&managed, attribute_is_managed, address) == success && managed != 0) return false;
    unsigned type = 0;
    return pointer_attribute(&type, attribute_memory_type, address) == success && type == memory_type_device;
  }

 private:
  static std::uint64_t libraries_loaded_so_far() {
    std::uint64_t loads = 0;
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t /*size*/, void* result) {
          *static_cast<std::uint64_t*>(result) = info->dlpi_adds;
          return 1;  // every object has the same number
        },
        &loads);
    return loads;
  }

  bool find_functions(void* library) {
    pointer_attribute =
        reinterpret_cast<decltype(pointer_attribute)>(dlsym(library, "cuPointerGetAttribute"));
    to_host = reinterpret_cast<decltype(to_host)>(dlsym(library, "cuMemcpyDtoH_v2"));
    to_device = reinterpret_cast<decltype(to_device)>(dlsym(library, "cuMemcpyHtoD_v2"));
    push_context = reinterpret_cast<decltype(push_context)>(dlsym(library, "cuCtxPushCurrent_v2"));
    pop_context = reinterpret_cast<decltype(pop_context)>(dlsym(library, "cuCtxPopCurrent_v2"));
    return pointer_attribute != nullptr && to_host != nullptr && to_device != nullptr &&
           push_context != nullptr && pop_context != nullptr;
  }
};

/// Makes the context of a pointer current while this lives: the thread that calls MPI may have none.
class ContextGuard {
 public:
  ContextGuard(const Driver& driver, const void* pointer) : driver_(driver) {
    void* context = nullptr;
    const auto address = reinterpret_cast<Driver::Address>(pointer);
    const bool found = driver.pointer_attribute(static_cast<void*>(&context), Driver::attribute_context,
                                                address) == Driver::success &&
                       context != nullptr;
    pushed_ = found && driver.push_context(context) == Driver::success;
  }
  ContextGuard(const ContextGuard&) = delete;
  ContextGuard& operator=(const ContextGuard&) = delete;
  ~ContextGuard() {
    void* context = nullptr;
    if (pushed_) driver_.pop_context(&context);
  }

 private:
  const Driver& driver_;
  bool pushed_ = false;
};

void require(int status, const char* what) {
  if (status != Driver::success) {
    throw std::runtime_error(std::string("the CUDA driver could not copy ") + what + " (error " +
                             std::to_string(status) + ")");
  }
}

}  // namespace

bool may_have_device_memory() {
  return Driver::loaded() != nullptr;
}

void copy_anywhere(void* into, const void* from, std::size_t bytes) {
  if (bytes == 0) return;
  const Driver* driver = Driver::loaded();
  const bool from_device = driver != nullptr && driver->is_device_memory(from);
  const bool into_device = driver != nullptr && driver->is_device_memory(into);
  if (!from_device && !into_device) {
    std::memcpy(into, from, bytes);
    return;
  }
  // From one device to itself or another: by way of the host.
  PooledBuffer between(from_device && into_device ? bytes : 0);
  void* const host = between.data() != nullptr ? between.data() : into;
  if (from_device) {
    const ContextGuard guard(*driver, from);
    require(driver->to_host(host, reinterpret_cast<Driver::Address>(from), bytes), "from device memory");
  }
  if (into_device) {
    const ContextGuard guard(*driver, into);
    require(driver->to_device(reinterpret_cast<Driver::Address>(into), from_device ? host : from, bytes),
            "to device memory");
  }
}

void DeviceStaging::stage(Call& call) {
  const Driver* driver =
      call.input_holds.count == 0 && call.output_holds.count == 0 ? nullptr : Driver::loaded();
  if (driver == nullptr) return;
  const Element& element = call.element;
  const bool in_place = call.in_place;
  const auto is_on_device = [&](const void* buffer, std::size_t count) {
    return count > 0 &&
           driver->is_device_memory(static_cast<const std::byte*>(buffer) + element.offset(count));
  };
  // In place the two are one buffer, as long as the longer of both.
  const std::size_t input_count = call.input_holds.count;
  const std::size_t output_count =
      in_place ? std::max(input_count, call.output_holds.count) : call.output_holds.count;

  if (is_on_device(call.output, output_count)) {
    users_output_ = call.output;
    output_bytes_ = element.span(output_count);
    output_start_ = element.offset(output_count);
    if (output_.data() == nullptr) output_ = PooledBuffer(output_bytes_);
    const auto* from = static_cast<const std::byte*>(call.output) + output_start_;
    const ContextGuard guard(*driver, from);
    // Gaps between elements must keep their contents.
    if (in_place || !element.contiguous()) {
      require(driver->to_host(output_.data(), reinterpret_cast<Driver::Address>(from), output_bytes_),
              "from device memory");
    }
    staged_output_ = output_.data();
    call.output = element.place(output_.data(), output_count);
    if (in_place) call.input = call.output;
  }
  if (!in_place && is_on_device(call.input, input_count)) {
    const std::size_t bytes = element.span(input_count);
    if (input_.data() == nullptr) input_ = PooledBuffer(bytes);
    const auto* from = static_cast<const std::byte*>(call.input) + element.offset(input_count);
    const ContextGuard guard(*driver, from);
    require(driver->to_host(input_.data(), reinterpret_cast<Driver::Address>(from), bytes),
            "from device memory");
    call.input = element.place(input_.data(), input_count);
  }
}

void DeviceStaging::copy_result_back() {
  if (users_output_ == nullptr) return;
  const Driver* driver = Driver::loaded();
  auto* to = static_cast<std::byte*>(users_output_) + output_start_;
  const ContextGuard guard(*driver, to);
  require(driver->to_device(reinterpret_cast<Driver::Address>(to), staged_output_, output_bytes_),
          "to device memory");
}

}  // namespace stretto
