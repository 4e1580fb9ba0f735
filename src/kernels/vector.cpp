// SPDX-License-Identifier: Apache-2.0

// The kernels with Highway. foreach_target.h includes this file once for each instruction set; the rest
// (HWY_ONCE) collects the results. Nothing here may call an inline function of the standard library: the
// linker keeps one copy of such a function, and that copy might need AVX-512.

#include <cstring>

#include "kernels/dispatch.hpp"

#ifdef __FAST_MATH__
#error "NaN, signed zeros and rounding are part of the contract: compile the kernels without -ffast-math"
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/vector.cpp"

// Requires no more than the kernels use, so that the conditions below suffice. Without FMA, nothing can be
// contracted for AVX2; AVX-512 and others rely on -ffp-contract=off.
#define HWY_DISABLE_PCLMUL_AES
#define HWY_DISABLE_BMI2_FMA
// Highway's assertions call hwy::Abort, which is in a library that is not linked.
#define HWY_IS_DEBUG_BUILD 0
#if defined(__x86_64__) || defined(__i386__)
// Every processor of the last 15 years has SSE4.2. AVX3_DL adds nothing to plain arithmetic.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3_DL)
#else
#define HWY_COMPILE_ONLY_STATIC
#endif
#include <hwy/foreach_target.h>
// After foreach_target.h, which sets the target for these.
#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include "kernels/vector-inl.hpp"

#if HWY_ONCE
#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

namespace stretto::kernels {
namespace {

#if defined(__x86_64__) || defined(__i386__)
// Does without __builtin_cpu_supports: clang's library for it brings its own memcpy (zig), which is slower
// than libc's.

/// Returns whether the operating system saves the registers of AVX (0x6) or also those of AVX-512 (0xe6).
bool saves_registers(unsigned wanted) noexcept {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & bit_OSXSAVE) == 0) return false;
  unsigned low = 0, high = 0;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (low & wanted) == wanted;
}

/// Returns whether the processor names these features in EBX of leaf 7.
bool has_extended(unsigned wanted) noexcept {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & wanted) == wanted;
}

/// Returns whether the processor names these features in ECX of leaf 1.
bool has_basic(unsigned wanted) noexcept {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & wanted) == wanted;
}
#endif

#if HWY_TARGETS & HWY_AVX3
bool has_avx512() noexcept {
  return saves_registers(0xe6) && has_extended(bit_AVX512F | bit_AVX512VL | bit_AVX512DQ | bit_AVX512BW);
}
constexpr Target avx512{"avx512", has_avx512, N_AVX3::table, N_AVX3::copy<N_AVX3::Cached>,
                        N_AVX3::copy<N_AVX3::Streamed>};
#endif

#if HWY_TARGETS & HWY_AVX2
bool has_avx2() noexcept {
  return saves_registers(0x6) && has_extended(bit_AVX2) && has_basic(bit_AVX | bit_F16C);
}
constexpr Target avx2{"avx2", has_avx2, N_AVX2::table, N_AVX2::copy<N_AVX2::Cached>,
                      N_AVX2::copy<N_AVX2::Streamed>};
#endif

#if HWY_TARGETS & HWY_SSE4
bool has_sse4() noexcept {
  return has_basic(bit_SSE4_2);
}
constexpr Target sse4{"sse4", has_sse4, N_SSE4::table, N_SSE4::copy<N_SSE4::Cached>,
                      N_SSE4::copy<N_SSE4::Streamed>};
#endif

#if defined(HWY_COMPILE_ONLY_STATIC) && STRETTO_TARGET_HAS_VECTORS
bool always() noexcept {
  return true;
}
constexpr Target simd{"simd", always, HWY_NAMESPACE::table, HWY_NAMESPACE::copy<HWY_NAMESPACE::Cached>,
                      HWY_NAMESPACE::copy<HWY_NAMESPACE::Streamed>};
#endif

constexpr const Target* best_first[] = {
#if HWY_TARGETS & HWY_AVX3
    &avx512,
#endif
#if HWY_TARGETS & HWY_AVX2
    &avx2,
#endif
#if HWY_TARGETS & HWY_SSE4
    &sse4,
#endif
#if defined(HWY_COMPILE_ONLY_STATIC) && STRETTO_TARGET_HAS_VECTORS
    &simd,
#endif
    &plain_target,
};

}  // namespace

std::span<const Target* const> targets() noexcept {
  return best_first;
}

}  // namespace stretto::kernels
#endif  // HWY_ONCE
