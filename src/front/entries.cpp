// SPDX-License-Identifier: Apache-2.0
// The functions of libstretto.so. Each goes on to the function of the same name in libstretto-core.so.
#include "front/entries.hpp"

#include <array>

#define STRETTO_TEXT_OF(word) #word
#define STRETTO_TEXT(word) STRETTO_TEXT_OF(word)

// An entry jumps to the address in its slot. While there is none, it goes to stretto_front_first, with its
// number in a register that no caller uses; that keeps all arguments, fills the slot and goes on. A finder is
// what the linker calls for an indirect symbol.
// clang-format off
#if defined(__x86_64__)
#define STRETTO_ENTRY_CODE(number)                              \
  "mov stretto_front_slots + 8 * " #number "(%rip), %r11\n"     \
  "test %r11, %r11\n"                                           \
  "jz 1f\n"                                                     \
  "jmp *%r11\n"                                                 \
  "1: mov $" #number ", %r11d\n"                                \
  "jmp stretto_front_first\n"
#define STRETTO_FINDER_CODE(number)                             \
  "mov $" #number ", %edi\n"                                    \
  "jmp stretto_front_find\n"
#define STRETTO_FIRST_CODE                                      \
  "push %rbp\n"                                                 \
  "mov %rsp, %rbp\n"                                            \
  "push %rdi\n push %rsi\n push %rdx\n push %rcx\n"             \
  "push %r8\n push %r9\n push %rax\n push %r10\n"               \
  "sub $128, %rsp\n"                                            \
  "movaps %xmm0, (%rsp)\n movaps %xmm1, 16(%rsp)\n"             \
  "movaps %xmm2, 32(%rsp)\n movaps %xmm3, 48(%rsp)\n"           \
  "movaps %xmm4, 64(%rsp)\n movaps %xmm5, 80(%rsp)\n"           \
  "movaps %xmm6, 96(%rsp)\n movaps %xmm7, 112(%rsp)\n"          \
  "mov %r11d, %edi\n"                                           \
  "call stretto_front_bind\n"                                   \
  "mov %rax, %r11\n"                                            \
  "movaps (%rsp), %xmm0\n movaps 16(%rsp), %xmm1\n"             \
  "movaps 32(%rsp), %xmm2\n movaps 48(%rsp), %xmm3\n"           \
  "movaps 64(%rsp), %xmm4\n movaps 80(%rsp), %xmm5\n"           \
  "movaps 96(%rsp), %xmm6\n movaps 112(%rsp), %xmm7\n"          \
  "add $128, %rsp\n"                                            \
  "pop %r10\n pop %rax\n pop %r9\n pop %r8\n"                   \
  "pop %rcx\n pop %rdx\n pop %rsi\n pop %rdi\n pop %rbp\n"      \
  "jmp *%r11\n"
#elif defined(__aarch64__)
#define STRETTO_ENTRY_CODE(number)                              \
  "adrp x16, stretto_front_slots + 8 * " #number "\n"           \
  "ldr x16, [x16, #:lo12:stretto_front_slots + 8 * " #number "]\n" \
  "cbz x16, 1f\n"                                               \
  "br x16\n"                                                    \
  "1: mov w16, #" #number "\n"                                  \
  "b stretto_front_first\n"
#define STRETTO_FINDER_CODE(number)                             \
  "mov w0, #" #number "\n"                                      \
  "b stretto_front_find\n"
#define STRETTO_FIRST_CODE                                      \
  "stp x29, x30, [sp, #-224]!\n"                                \
  "mov x29, sp\n"                                               \
  "stp x0, x1, [sp, #16]\n stp x2, x3, [sp, #32]\n"             \
  "stp x4, x5, [sp, #48]\n stp x6, x7, [sp, #64]\n"             \
  "str x8, [sp, #80]\n"                                         \
  "stp q0, q1, [sp, #96]\n stp q2, q3, [sp, #128]\n"            \
  "stp q4, q5, [sp, #160]\n stp q6, q7, [sp, #192]\n"           \
  "mov w0, w16\n"                                               \
  "bl stretto_front_bind\n"                                     \
  "mov x16, x0\n"                                               \
  "ldp x0, x1, [sp, #16]\n ldp x2, x3, [sp, #32]\n"             \
  "ldp x4, x5, [sp, #48]\n ldp x6, x7, [sp, #64]\n"             \
  "ldr x8, [sp, #80]\n"                                         \
  "ldp q0, q1, [sp, #96]\n ldp q2, q3, [sp, #128]\n"            \
  "ldp q4, q5, [sp, #160]\n ldp q6, q7, [sp, #192]\n"           \
  "ldp x29, x30, [sp], #224\n"                                  \
  "br x16\n"
#endif

#define STRETTO_ENTRY(number, name)                             \
  __asm__(".text 1\n"                                           \
          ".balign 32\n"                                        \
          ".globl " #name "\n"                                  \
          ".type " #name ", %function\n"                        \
          #name ":\n"                                           \
          STRETTO_ENTRY_CODE(number)                            \
          ".size " #name ", . - " #name "\n"                    \
          ".text 2\n"                                           \
          ".balign 16\n"                                        \
          STRETTO_FINDER_CODE(number)                           \
          ".text 0\n");
// clang-format on

__asm__(
    ".text 1\n.balign 32\n.hidden stretto_front_entries\n.globl stretto_front_entries\n"
    "stretto_front_entries:\n"
    ".text 2\n.balign 16\n.hidden stretto_front_finders\n.globl stretto_front_finders\n"
    "stretto_front_finders:\n"
    ".text 0\n.type stretto_front_first, %function\nstretto_front_first:\n" STRETTO_FIRST_CODE);
#include "front_entries.inc"
#undef STRETTO_ENTRY

std::atomic<void*> stretto_front_slots[stretto::entry_count];

namespace stretto {
namespace {

#define STRETTO_ENTRY(number, name) #name "\0"
constexpr char names[] =
#include "front_entries.inc"
    ;
#undef STRETTO_ENTRY

constexpr std::array<unsigned short, entry_count> beginnings = [] {
  std::array<unsigned short, entry_count> result{};
  std::size_t at = 0;
  for (unsigned short& beginning : result) {
    beginning = static_cast<unsigned short>(at);
    while (names[at] != '\0') ++at;
    ++at;
  }
  return result;
}();
static_assert(sizeof(names) < 65536);

}  // namespace

const char* name_of_entry(std::size_t number) {
  return names + beginnings[number];
}

}  // namespace stretto
