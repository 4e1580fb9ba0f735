// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <utility>
#include <vector>

#include "threads/immortal.hpp"
#include "threads/spin_lock.hpp"

namespace stretto {

/// Memory that a collective needs while it runs, kept for the next one. A repeated call allocates nothing,
/// and gets pages that are already mapped. Sizes are rounded up to powers of two. Thread-safe.
class BufferPool {
 public:
  /// With more idle memory than this, returned buffers are freed.
  static constexpr std::size_t most_idle_bytes = std::size_t{512} << 20;

  ~BufferPool();

  /// Returns at least `bytes`, aligned for any element and for SIMD. Throws std::bad_alloc.
  std::byte* take(std::size_t bytes);
  /// `bytes` as given to take().
  void give_back(std::byte* buffer, std::size_t bytes) noexcept;

 private:
  SpinLock lock_;
  std::array<std::vector<std::byte*>, 64> idle_;  // by the logarithm of the size
  std::size_t idle_bytes_ = 0;
};

/// Returns the pool of this process.
extern constinit Immortal<BufferPool> buffer_pool;

/// A buffer of the pool that is returned when this is destroyed.
class PooledBuffer {
 public:
  PooledBuffer() = default;
  explicit PooledBuffer(std::size_t bytes)
      : data_(bytes == 0 ? nullptr : buffer_pool().take(bytes)), bytes_(bytes) {}
  PooledBuffer(PooledBuffer&& other) noexcept { swap(other); }
  PooledBuffer& operator=(PooledBuffer&& other) noexcept {
    swap(other);
    return *this;
  }
  ~PooledBuffer() {
    if (data_ != nullptr) buffer_pool().give_back(data_, bytes_);
  }

  [[nodiscard]] std::byte* data() const { return data_; }

  /// Never returns the buffer: a transfer that failed may still write to it.
  void abandon() { data_ = nullptr; }

 private:
  void swap(PooledBuffer& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
  }

  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace stretto
