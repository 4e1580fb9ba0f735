// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace stretto {

/// Tells the processor that this thread looks at memory again and again, so that the core's other thread gets
/// more of the core.
inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield" ::: "memory");
#endif
}

}  // namespace stretto
