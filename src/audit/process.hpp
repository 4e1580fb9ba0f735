// SPDX-License-Identifier: Apache-2.0
// Access to the auditor's process, without a C library.
#pragma once

#include <cstddef>

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

/// Writes to the standard error.
inline void write_error(const char* text) {
  std::size_t length = 0;
  while (text[length] != '\0') ++length;
#if defined(__x86_64__)
  long result = 1;  // the number of write(2)
  __asm__ volatile("syscall" : "+a"(result) : "D"(2L), "S"(text), "d"(length) : "rcx", "r11", "memory");
#elif defined(__aarch64__)
  register long number __asm__("x8") = 64;
  register long first __asm__("x0") = 2;
  register const char* second __asm__("x1") = text;
  register std::size_t third __asm__("x2") = length;
  __asm__ volatile("svc 0" : "+r"(first) : "r"(number), "r"(second), "r"(third) : "memory");
#endif
}

}  // namespace stretto
