// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace stretto {

/// The functions of the CUDA driver (cuda.h) that staging needs. They are declared here so that the build
/// does not need CUDA, and looked up in the driver that the process has loaded. All return 0 or an error.
struct DeviceDriver {
  using Address = std::uint64_t;
  using Context = void*;
  using Stream = void*;
  using Event = void*;
  /// CU_STREAM_LEGACY: the default stream, as a name that is not nullptr.
  static Stream default_stream() { return reinterpret_cast<Stream>(std::uintptr_t{1}); }
  static constexpr int success = 0;
  static constexpr int invalid_value = 1;
  static constexpr int not_initialized = 3;
  static constexpr int not_ready = 600;

  /// The arguments of a copy of rows (CUDA_MEMCPY2D).
  struct Rows {
    struct End {
      static constexpr unsigned host = 1;
      static constexpr unsigned device = 2;
      std::size_t x = 0;
      std::size_t y = 0;
      unsigned memory_type = host;
      void* host_address = nullptr;
      Address device_address = 0;
      void* array = nullptr;
      std::size_t pitch = 0;
    };
    End from;
    End to;
    std::size_t width = 0;
    std::size_t height = 0;
  };

  int (*pointer_attributes)(unsigned number, const int* attributes, void** values, Address pointer) = nullptr;
  int (*to_host)(void* host, Address device, std::size_t bytes) = nullptr;
  int (*to_device)(Address device, const void* host, std::size_t bytes) = nullptr;
  int (*push_context)(Context context) = nullptr;
  int (*pop_context)(Context* context) = nullptr;
  int (*to_host_async)(void* host, Address device, std::size_t bytes, Stream stream) = nullptr;
  int (*to_device_async)(Address device, const void* host, std::size_t bytes, Stream stream) = nullptr;
  int (*copy_2d_async)(const Rows* rows, Stream stream) = nullptr;
  int (*make_stream)(Stream* stream, unsigned flags, int priority) = nullptr;
  int (*stream_priorities)(int* least, int* greatest) = nullptr;
  int (*make_event)(Event* event, unsigned flags) = nullptr;
  int (*record_event)(Event event, Stream stream) = nullptr;
  int (*query_event)(Event event) = nullptr;
  int (*register_host)(void* host, std::size_t bytes, unsigned flags) = nullptr;
  int (*unregister_host)(void* host) = nullptr;
  int (*device)(int* device, int ordinal) = nullptr;
  int (*retain_context)(Context* context, int device) = nullptr;
  /// nullptr in drivers before CUDA 9.2.
  int (*context_of_stream)(Stream stream, Context* context) = nullptr;

  /// Returns the driver; nullptr while the process has loaded no driver, or one that lacks some of these
  /// functions (before CUDA 7.0). A process that was forked after its parent had a driver gets nullptr, too,
  /// since a context does not survive a fork. Takes some ten nanoseconds.
  static const DeviceDriver* loaded();

  /// Whether memory belongs to a device, and the processor cannot access it. If the driver fails, all memory
  /// that the processor cannot access counts as device memory. Memory that the driver does not know counts as
  /// host memory.
  [[nodiscard]] bool is_device_memory(const void* pointer) const;

  /// Whether the driver itself knows memory. It is asked even about memory that is surely the host's: another
  /// vendor's driver may have given the address to a tensor of its own.
  [[nodiscard]] bool knows(const void* pointer) const;

  enum class MemoryKind : std::uint8_t { host, device, unknown };
  /// Returns where memory is. Managed memory counts as host memory, since the host can access it. Memory is
  /// `unknown` if the driver does not know it, or cannot say, and the processor cannot access it: freed
  /// memory of a device, or that of a lost context. Writes the driver's error, if there is one.
  [[nodiscard]] MemoryKind kind_of(const void* pointer, int& error) const;

  /// Copies to a device, and waits until the bytes are there. If the host memory is not pinned, the driver's
  /// own function may return before that. A copy back in the same stream does not, so this copies the last
  /// byte back.
  int to_device_at_once(Address place, const void* host, std::size_t bytes) const {
    const int error = to_device(place, host, bytes);
    char last = 0;
    return error != success ? error : to_host(&last, place + bytes - 1, 1);
  }

  /// Returns the context in which memory can be copied; nullptr if there is none.
  [[nodiscard]] Context context_of(const void* pointer) const;

 private:
  /// The driver's answer about memory. If it does not know the memory, `type` is 0, and there is no context.
  struct Facts {
    unsigned type = 0;
    unsigned is_managed = 0;
    Context context = nullptr;
    int ordinal = 0;  // of the device
  };
  /// Asks the driver about memory, and returns its error. Takes a tenth of a microsecond, also for memory
  /// that it does not know. (To ask for each attribute alone, by cuPointerGetAttribute, takes five times as
  /// long.)
  int ask(const void* pointer, Facts& facts) const;
  /// Does the same as kind_of(), but does not check what the processor can access.
  MemoryKind find_kind(const void* pointer, int& error) const;
  bool find_functions(void* library);
};

inline DeviceDriver::Address device_address(const void* pointer) {
  return reinterpret_cast<DeviceDriver::Address>(pointer);
}

/// Makes a context current while this lives: the thread that calls MPI, or the helper thread, may have none.
class ContextGuard {
 public:
  ContextGuard(const DeviceDriver& driver, DeviceDriver::Context context)
      : driver_(driver),
        pushed_(context != nullptr && driver.push_context(context) == DeviceDriver::success) {}
  ContextGuard(const ContextGuard&) = delete;
  ContextGuard& operator=(const ContextGuard&) = delete;
  ~ContextGuard() {
    DeviceDriver::Context context = nullptr;
    if (pushed_) driver_.pop_context(&context);
  }

 private:
  const DeviceDriver& driver_;
  bool pushed_;
};

}  // namespace stretto
