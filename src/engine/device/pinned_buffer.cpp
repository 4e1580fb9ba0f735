// SPDX-License-Identifier: Apache-2.0
#include "engine/device/pinned_buffer.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <mutex>
#include <new>
#include <vector>

#include "threads/immortal.hpp"
#include "threads/spin_lock.hpp"

namespace stretto {
namespace {

constexpr std::size_t least_bytes = std::size_t{64} << 10;
/// cuMemHostRegister's flag: pinned for every context of the process.
constexpr unsigned portable = 1;

struct Pool {
  SpinLock lock;
  std::vector<PinnedBuffer::Memory> idle;
  std::size_t idle_bytes = 0;
};

constinit Immortal<Pool> pool;

/// Rounds up by an eighth at most, so that calls of about the same size share buffers.
std::size_t rounded(std::size_t bytes) {
  std::size_t step = least_bytes;
  while (step * 16 < bytes) step *= 2;
  return (std::max(bytes, least_bytes) + step - 1) / step * step;
}

/// Maps memory for one buffer alone: pinned pages must not be shared with a child that is forked later.
PinnedBuffer::Memory map(std::size_t bytes) {
  void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) throw std::bad_alloc();
  madvise(data, bytes, MADV_DONTFORK);
  return {.data = static_cast<std::byte*>(data), .bytes = bytes, .maker = Maker::this_process()};
}

void unmap(const PinnedBuffer::Memory& memory) {
  if (!memory.maker.is_this_process()) return;
  if (memory.pinned_in != nullptr) {
    const DeviceDriver* driver = DeviceDriver::loaded();
    if (driver == nullptr) return;
    // If the context is lost, the memory is no longer pinned.
    const ContextGuard guard(*driver, memory.pinned_in);
    driver->unregister_host(memory.data);
  }
  munmap(memory.data, memory.bytes);
}

}  // namespace

PinnedBuffer::PinnedBuffer(std::size_t bytes, const DeviceDriver& driver, DeviceDriver::Context context) {
  if (bytes == 0) return;
  const std::size_t size = rounded(bytes);
  Pool& buffers = pool();
  {
    const std::lock_guard guard(buffers.lock);
    const auto found = std::ranges::find_if(
        buffers.idle, [&](const Memory& one) { return one.bytes >= size && one.bytes / 2 <= size; });
    if (found != buffers.idle.end()) {
      memory_ = *found;
      *found = buffers.idle.back();
      buffers.idle.pop_back();
      buffers.idle_bytes -= memory_.bytes;
      return;
    }
  }
  memory_ = map(size);
  const ContextGuard guard(driver, context);
  if (driver.register_host(memory_.data, memory_.bytes, portable) == DeviceDriver::success)
    memory_.pinned_in = context;
}

PinnedBuffer::~PinnedBuffer() {
  if (memory_.data == nullptr) return;
  Pool& buffers = pool();
  try {
    const std::lock_guard guard(buffers.lock);
    if (buffers.idle_bytes + memory_.bytes <= most_idle_bytes) {
      buffers.idle.push_back(memory_);
      buffers.idle_bytes += memory_.bytes;
      return;
    }
  } catch (const std::bad_alloc&) {
    static_cast<void>(memory_);  // it is unmapped
  }
  unmap(memory_);
}

}  // namespace stretto
