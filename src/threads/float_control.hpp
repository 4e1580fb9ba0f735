// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace stretto {

/// The way in which a thread rounds and treats subnormal numbers (FTZ, DAZ). A program may set this for its
/// threads at any time. A thread that reduces in place of another one must use the same settings, or ranks
/// get different bits. Traps are not changed: the program could not handle a signal in another thread.
struct FloatControl {
  std::uint32_t vector = 0;  // bits of MXCSR or FPCR
  std::uint16_t x87 = 0;     // bits of the control word, for long double

  friend bool operator==(const FloatControl&, const FloatControl&) = default;

  [[nodiscard]] static FloatControl current() {
    FloatControl now;
#if defined(__SSE2__)
    __asm__ volatile("stmxcsr %0" : "=m"(now.vector));
    now.vector &= vector_mask;
    __asm__ volatile("fnstcw %0" : "=m"(now.x87));
    now.x87 &= x87_mask;
#elif defined(__aarch64__)
    std::uint64_t fpcr = 0;
    __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
    now.vector = static_cast<std::uint32_t>(fpcr) & vector_mask;
#endif
    return now;
  }

  void set() const {
#if defined(__SSE2__)
    std::uint32_t mxcsr = 0;
    __asm__ volatile("stmxcsr %0" : "=m"(mxcsr));
    mxcsr = (mxcsr & ~vector_mask) | vector;
    __asm__ volatile("ldmxcsr %0" : : "m"(mxcsr));
    std::uint16_t word = 0;
    __asm__ volatile("fnstcw %0" : "=m"(word));
    word = static_cast<std::uint16_t>((word & ~unsigned{x87_mask}) | x87);
    __asm__ volatile("fldcw %0" : : "m"(word));
#elif defined(__aarch64__)
    std::uint64_t fpcr = 0;
    __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
    fpcr = (fpcr & ~std::uint64_t{vector_mask}) | vector;
    __asm__ volatile("msr fpcr, %0" : : "r"(fpcr));
#endif
  }

 private:
#if defined(__aarch64__)
  static constexpr std::uint32_t vector_mask = 0x07C00000;  // rounding, FZ, DN, AHP
#else
  static constexpr std::uint32_t vector_mask = 0xE040;  // rounding, FTZ, DAZ
#endif
  static constexpr std::uint16_t x87_mask = 0x0F00;  // rounding, precision
};

/// While this object lives, its thread uses the settings of another thread.
class ScopedFloatControl {
 public:
  explicit ScopedFloatControl(const FloatControl& other)
      : own_(FloatControl::current()), differs_(own_ != other) {
    if (differs_) other.set();
  }
  ScopedFloatControl(const ScopedFloatControl&) = delete;
  ScopedFloatControl& operator=(const ScopedFloatControl&) = delete;
  ~ScopedFloatControl() {
    if (differs_) own_.set();
  }

 private:
  FloatControl own_;
  bool differs_;
};

}  // namespace stretto
