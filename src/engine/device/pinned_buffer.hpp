// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <utility>

#include "engine/device/device_driver.hpp"
#include "threads/maker.hpp"

namespace stretto {

/// Host memory that a driver can copy from and to while the processor does something else. It is kept for the
/// next call: pinning a megabyte takes a tenth of a millisecond and more. Memory that the driver does not pin
/// (there is a limit) works as well, at the speed of the driver's own staging.
class PinnedBuffer {
 public:
  /// With more idle memory than this, returned buffers are unmapped.
  static constexpr std::size_t most_idle_bytes = std::size_t{2} << 30;

  PinnedBuffer() = default;
  /// Throws std::bad_alloc.
  PinnedBuffer(std::size_t bytes, const DeviceDriver& driver, DeviceDriver::Context context);
  PinnedBuffer(PinnedBuffer&& other) noexcept { swap(other); }
  PinnedBuffer& operator=(PinnedBuffer&& other) noexcept {
    swap(other);
    return *this;
  }
  PinnedBuffer(const PinnedBuffer&) = delete;
  PinnedBuffer& operator=(const PinnedBuffer&) = delete;
  ~PinnedBuffer();

  [[nodiscard]] std::byte* data() const { return memory_.data; }
  [[nodiscard]] std::size_t bytes() const { return memory_.bytes; }

  /// Never returns the buffer: a copy that failed may still write to it.
  void abandon() { memory_ = {}; }

  struct Memory {
    std::byte* data = nullptr;
    std::size_t bytes = 0;
    DeviceDriver::Context pinned_in = nullptr;  // nullptr: it is not pinned
    Maker maker;
  };

 private:
  void swap(PinnedBuffer& other) noexcept { std::swap(memory_, other.memory_); }

  Memory memory_;
};

}  // namespace stretto
