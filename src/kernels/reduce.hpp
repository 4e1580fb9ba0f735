// SPDX-License-Identifier: Apache-2.0
#pragma once

// Reduction arithmetic: into[i] = left[i] op right[i].
//
// The result of an element depends only on its two operands: its bits are the same for any instruction set,
// alignment, count and place of the element in the buffer. So ranks that reduce the same operands with
// different cuts of a message get the same bits. In detail:
//
// - Integers wrap around, signed ones too.
// - Logical operations give 1 or 0. An operand is true if it is not 0 (for _Bool: if its byte is not 0).
// - min is `right < left ? right : left`, max is `left < right ? right : left`: of equal operands (+0 and -0)
//   and of unordered ones (a NaN) the left one is the result.
// - sum and prod of floats round after each operation and never fuse a product with a sum. If the left
//   operand is a NaN, it is the result, unchanged; else the processor's rule applies (the right NaN, made
//   quiet). Without this rule, the order in which a compiler places commutable operands would decide which
//   NaN survives.
// - float16 and bfloat16 are not types of MPI. Both operands become float, and the result is rounded to
//   nearest, ties to even. So a sum or product is the exact one, rounded once. NaNs are kept as above.
// - The product of complex numbers is (a.re*b.re - a.im*b.im, a.re*b.im + a.im*b.re). Each operation follows
//   the rules above. Infinities are not recovered as in C's Annex G.

#include <cstddef>
#include <cstdint>

namespace stretto::kernels {

enum class Type : std::uint8_t {
  i8,
  i16,
  i32,
  i64,
  u8,
  u16,
  u32,
  u64,
  f32,
  f64,
  f80,  // long double
  c32,  // complex of two float
  c64,  // complex of two double
  c80,  // complex of two long double
  boolean,
  f16,   // IEEE 754 half precision
  bf16,  // the upper half of a float
};

enum class Op : std::uint8_t { sum, prod, min, max, land, lor, lxor, band, bor, bxor };

// `into` may be exactly `left` or exactly `right`; no other overlap is allowed. Buffers need only the
// alignment of their element.
using Function = void (*)(void* into, const void* left, const void* right, std::size_t count);

// Returns the fastest function for this processor; nullptr if MPI does not define the operation on the type.
// Thread-safe. The function stays valid and makes no further choice.
Function find(Type type, Op op) noexcept;

// Copies bytes; the buffers do not overlap. memcpy of glibc 2.36 and older is up to ten times slower on Zen 3
// and Zen 4 for some distances of the buffers, from 8 KiB on (its "rep movsb").
using Copy = void (*)(void* into, const void* from, std::size_t bytes);
Copy find_copy() noexcept;

// Copies past the caches, where the processor can. The bytes are visible to another thread once it has
// acquired what this one releases later.
Copy find_streaming_copy() noexcept;

// Returns the bytes of one element, padding included.
std::size_t size_of(Type type) noexcept;

}  // namespace stretto::kernels
