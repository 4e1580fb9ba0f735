// SPDX-License-Identifier: Apache-2.0
#include "engine/host_memory.hpp"

#include <pthread.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

namespace stretto {
namespace {

/// Where the heap ended when this was loaded.
const auto heap_begin = reinterpret_cast<std::uintptr_t>(sbrk(0));

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
  return address >= heap_begin && address < reinterpret_cast<std::uintptr_t>(sbrk(0));
}

}  // namespace stretto
