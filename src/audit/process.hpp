// SPDX-License-Identifier: Apache-2.0
// Access to the auditor's process, without a C library.
#pragma once

#include <sys/mman.h>
#include <sys/syscall.h>

#include <cstdint>

#include "elf/loaded.hpp"

namespace stretto {

/// The arguments and the environment with which the program was started.
class Arguments {
 public:
  /// `stack` is the place where the kernel put them, which the linker remembers: the number of arguments, the
  /// arguments, a null pointer, the environment, a null pointer.
  explicit Arguments(const std::uintptr_t* stack) : stack_(stack) {}

  [[nodiscard]] const char* program() const {
    return stack_ == nullptr || stack_[0] == 0 ? "the program" : reinterpret_cast<const char*>(stack_[1]);
  }
  /// Returns the value of a variable, or nullptr.
  [[nodiscard]] const char* variable(const char* name) const {
    if (stack_ == nullptr) return nullptr;
    for (const std::uintptr_t* at = stack_ + 1 + stack_[0] + 1; *at != 0; ++at) {
      const char* text = reinterpret_cast<const char*>(*at);
      const char* rest = name;
      for (; *rest != '\0' && *rest == *text; ++rest, ++text) {
      }
      if (*rest == '\0' && *text == '=') return text + 1;
    }
    return nullptr;
  }

 private:
  const std::uintptr_t* stack_;
};

/// Asks the kernel. Returns a negative error number if it refuses.
inline long system_call(long number, long first, long second, long third) {
#if defined(__x86_64__)
  __asm__ volatile("syscall" : "+a"(number) : "D"(first), "S"(second), "d"(third) : "rcx", "r11", "memory");
  return number;
#elif defined(__aarch64__)
  register long call __asm__("x8") = number;
  register long result __asm__("x0") = first;
  register long x1 __asm__("x1") = second;
  register long x2 __asm__("x2") = third;
  __asm__ volatile("svc 0" : "+r"(result) : "r"(call), "r"(x1), "r"(x2) : "memory");
  return result;
#endif
}

/// Writes to the standard error.
inline void write_error(const char* text) {
  long length = 0;
  while (text[length] != '\0') ++length;
  system_call(SYS_write, 2, reinterpret_cast<long>(text), length);
}

/// Allows or forbids (PROT_READ) writing to the pages from `begin` to `end`. Returns whether the kernel did.
inline bool protect(const void* begin, const void* end, int protection) {
  // Linkers put the segments of a file into pages of their own of this size, which are the largest there are.
#if defined(__x86_64__)
  constexpr std::uintptr_t page = 4096;
#else
  constexpr std::uintptr_t page = 65536;
#endif
  const std::uintptr_t first = reinterpret_cast<std::uintptr_t>(begin) / page * page;
  const std::uintptr_t length = reinterpret_cast<std::uintptr_t>(end) - first;
  return system_call(SYS_mprotect, static_cast<long>(first), static_cast<long>(length), protection) == 0;
}

}  // namespace stretto
