// SPDX-License-Identifier: Apache-2.0
#include "engine/device/host_memory.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string_view>

// The end of the heap, as glibc knows it. sbrk(0) returns the same, but UCX, which MPI libraries load,
// replaces sbrk by a system call, which takes a hundred times as long. If another allocator calls the kernel
// itself, this value is too low, which only costs a little time.
// NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming): glibc's
extern "C" [[gnu::weak]] void* __curbrk;

namespace stretto {
namespace {

std::uintptr_t end_of_heap() {
  return reinterpret_cast<std::uintptr_t>(&__curbrk != nullptr ? __curbrk : sbrk(0));
}

/// Returns the beginning of the heap, as the kernel knows it (proc(5), start_brk of /proc/self/stat). If the
/// kernel does not say, that only costs a little time, too.
std::uintptr_t find_heap_begin() {
  std::array<char, 1024> text{};
  const int file = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
  const ssize_t bytes = file < 0 ? 0 : read(file, text.data(), text.size());
  if (file >= 0) close(file);
  std::string_view rest(text.data(), static_cast<std::size_t>(std::max<ssize_t>(bytes, 0)));
  // The name of the program, the second field, ends with the last parenthesis.
  constexpr int fields_behind_name = 47 - 2;
  rest.remove_prefix(std::min(rest.rfind(')'), rest.size()));
  for (int i = 0; i < fields_behind_name; ++i) rest.remove_prefix(std::min(rest.find(' ') + 1, rest.size()));
  std::uintptr_t begin = 0;
  std::from_chars(rest.data(), rest.data() + rest.size(), begin);
  return begin != 0 ? begin : end_of_heap();
}

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
  static const std::uintptr_t heap_begin = find_heap_begin();
  return address >= heap_begin && address < end_of_heap();
}

}  // namespace stretto
