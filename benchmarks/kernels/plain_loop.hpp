// SPDX-License-Identifier: Apache-2.0
#pragma once

// The loop that anyone would write. Function attributes compile it in two ways within one program: as
// distributions do (-O2 for any x86-64), and with everything on (-O3 for AVX-512 or, without it, AVX2). On
// other processors both are compiled as the program is.

#include <cstddef>

#include "kernels/reduce.hpp"

namespace stretto::benchmarks {

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define STRETTO_LOOP_O2 __attribute__((noinline, optimize("O2"), target("arch=x86-64")))
#define STRETTO_LOOP_AVX2 __attribute__((noinline, optimize("O3"), target("arch=haswell")))
#define STRETTO_LOOP_AVX512 \
  __attribute__((noinline, optimize("O3"), target("arch=skylake-avx512,prefer-vector-width=512")))
#else
#define STRETTO_LOOP_O2 __attribute__((noinline))
#define STRETTO_LOOP_AVX2 STRETTO_LOOP_O2
#define STRETTO_LOOP_AVX512 STRETTO_LOOP_O2
#endif

// A macro, since a function that all three call would be compiled only once.
#define STRETTO_LOOP(name, attributes)                                                   \
  template <class T, kernels::Op op>                                                     \
  attributes void name(void* into, const void* left, const void* right, std::size_t n) { \
    auto* out = static_cast<T*>(into);                                                   \
    const auto* a = static_cast<const T*>(left);                                         \
    const auto* b = static_cast<const T*>(right);                                        \
    for (std::size_t i = 0; i < n; ++i) {                                                \
      if constexpr (op == kernels::Op::sum) {                                            \
        out[i] = static_cast<T>(a[i] + b[i]);                                            \
      } else if constexpr (op == kernels::Op::prod) {                                    \
        out[i] = static_cast<T>(a[i] * b[i]);                                            \
      } else if constexpr (op == kernels::Op::max) {                                     \
        out[i] = a[i] < b[i] ? b[i] : a[i];                                              \
      } else {                                                                           \
        out[i] = static_cast<T>(a[i] & b[i]);                                            \
      }                                                                                  \
    }                                                                                    \
  }

STRETTO_LOOP(loop_o2, STRETTO_LOOP_O2)
STRETTO_LOOP(loop_avx2, STRETTO_LOOP_AVX2)
STRETTO_LOOP(loop_avx512, STRETTO_LOOP_AVX512)

// Returns the best loop that this processor can run; nullptr if that is loop_o2.
template <class T, kernels::Op op>
kernels::Function loop_native() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512dq")) {
    return loop_avx512<T, op>;
  }
  if (__builtin_cpu_supports("avx2")) return loop_avx2<T, op>;
#endif
  return nullptr;
}

}  // namespace stretto::benchmarks
