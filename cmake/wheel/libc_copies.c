/* SPDX-License-Identifier: Apache-2.0 */
/* For the compiler of scripts/wheel: its run-time library has a memcpy of its own, which comes before that of
   the C library and takes up to 1.7 times as long for messages. A reference with a version means the C
   library's. */
#include <stddef.h>

#if defined(__x86_64__)
#define OLDEST "GLIBC_2.2.5"
#define OLDEST_MEMCPY "GLIBC_2.14"
#else
#define OLDEST "GLIBC_2.17"
#define OLDEST_MEMCPY OLDEST
#endif

__asm__(".symver libc_memcpy, memcpy@" OLDEST_MEMCPY);
__asm__(".symver libc_memmove, memmove@" OLDEST);
__asm__(".symver libc_memset, memset@" OLDEST);
void* libc_memcpy(void* to, const void* from, size_t length);
void* libc_memmove(void* to, const void* from, size_t length);
void* libc_memset(void* to, int value, size_t length);

#define HIDDEN __attribute__((visibility("hidden")))
HIDDEN void* memcpy(void* to, const void* from, size_t length) {
  return libc_memcpy(to, from, length);
}
HIDDEN void* memmove(void* to, const void* from, size_t length) {
  return libc_memmove(to, from, length);
}
HIDDEN void* memset(void* to, int value, size_t length) {
  return libc_memset(to, value, length);
}
