// SPDX-License-Identifier: Apache-2.0
#include "engine/host_memory.hpp"

#include <pthread.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

// Where the heap ends, as glibc knows it. sbrk(0) returns the same; but UCX, which MPI libraries load,
// replaces it by a call of the kernel, a hundred times as long. Where another allocator calls the kernel
// itself, this is too low, and no more than a little time is lost.
// NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming): glibc's
extern "C" [[gnu::weak]] void* __curbrk;

namespace stretto {
namespace {

std::uintptr_t end_of_heap() {
  return reinterpret_cast<std::uintptr_t>(&__curbrk != nullptr ? __curbrk : sbrk(0));
}

/// Where the heap ended when this was loaded.
const std::uintptr_t heap_begin = end_of_heap();

struct Stack {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;  // 0: not known yet
};

Stack find_stack() {
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return {.begin = 1, .end = 1};
  void* begin = nullptr;
  std::size_t bytes = 0;
  pthread_attr_getstack(&attributes, &begin, &bytes);
  pthread_attr_destroy(&attributes);
  const auto first = reinterpret_cast<std::uintptr_t>(begin);
  return {.begin = first, .end = first + bytes};
}

thread_local Stack stack __attribute__((tls_model("initial-exec")));

}  // namespace

bool is_surely_host_memory(const void* pointer) {
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  if (stack.end == 0) stack = find_stack();
  // The main thread's stack grows downwards to a limit; below this frame, nothing is on it yet.
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  if (address >= here && address >= stack.begin && address < stack.end) return true;
  return address >= heap_begin && address < end_of_heap();
}

}  // namespace stretto
