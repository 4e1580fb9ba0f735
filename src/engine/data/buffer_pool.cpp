// SPDX-License-Identifier: Apache-2.0
#include "engine/data/buffer_pool.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <mutex>
#include <new>

namespace stretto {
namespace {

constexpr std::size_t alignment = 64;

std::size_t size_class(std::size_t bytes) {
  return static_cast<std::size_t>(std::countr_zero(std::bit_ceil(std::max(bytes, alignment))));
}

}  // namespace

BufferPool::~BufferPool() {
  for (auto& buffers : idle_) {
    for (std::byte* buffer : buffers) std::free(buffer);
  }
}

std::byte* BufferPool::take(std::size_t bytes) {
  const std::size_t index = size_class(bytes);
  {
    const std::lock_guard guard(lock_);
    if (!idle_.at(index).empty()) {
      std::byte* buffer = idle_.at(index).back();
      idle_.at(index).pop_back();
      idle_bytes_ -= std::size_t{1} << index;
      return buffer;
    }
  }
  void* buffer = std::aligned_alloc(alignment, std::size_t{1} << index);
  if (buffer == nullptr) throw std::bad_alloc();
  return static_cast<std::byte*>(buffer);
}

void BufferPool::give_back(std::byte* buffer, std::size_t bytes) noexcept {
  const std::size_t index = size_class(bytes);
  const std::size_t size = std::size_t{1} << index;
  const std::lock_guard guard(lock_);
  if (idle_bytes_ + size > most_idle_bytes) {
    std::free(buffer);
    return;
  }
  try {
    idle_.at(index).push_back(buffer);
    idle_bytes_ += size;
  } catch (const std::bad_alloc&) {
    std::free(buffer);
  }
}

constinit Immortal<BufferPool> buffer_pool;

}  // namespace stretto
