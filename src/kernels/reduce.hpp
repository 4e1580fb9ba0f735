// SPDX-License-Identifier: Apache-2.0
#pragma once

// Reduction arithmetic: into[i] = left[i] op right[i].
//
// The result of an element depends on its two operands only: the same bits come out whatever the instruction
// set, the alignment, the count and the element's place in the buffer. Ranks that reduce the same operands
// along different cuts of a message therefore agree to the bit. In detail:
//
// - Integers wrap around, signed ones too.
// - Logical operations give 1 or 0; an operand counts as true when it is not 0 (for _Bool: when its byte is
// not 0).
// - min is `right < left ? right : left`, max is `left < right ? right : left`: of equal operands (+0 and -0)
//   and of unordered ones (a NaN) the left one is taken.
// - sum and prod of floats round after each operation and never fuse a product with a sum. If the left
// operand
//   is a NaN it is the result, unchanged; else the processor's rule applies (the right NaN, made quiet).
//   Without this, which of two NaNs survives would hang on the order in which a compiler places commutable
//   operands.
// - float16 and bfloat16, which MPI does not know: both operands become float, and the result is rounded to
//   nearest, ties to even; so a sum, and a product, is the exact one rounded once. A NaN among the operands
//   is kept as above.
// - The product of complex numbers is (a.re*b.re - a.im*b.im, a.re*b.im + a.im*b.re), operation by operation
// as
//   above, without C's Annex G recovery of infinities.

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

// `into` may be exactly `left` or exactly `right`; no other overlap. Buffers need only the alignment of their
// element.
using Function = void (*)(void* into, const void* left, const void* right, std::size_t count);

// The fastest function for this processor, or nullptr where MPI does not define the operation on the type.
// Thread-safe; the function found stays valid and contains no further choice.
Function find(Type type, Op op) noexcept;

// Bytes of one element, padding included.
std::size_t size_of(Type type) noexcept;

}  // namespace stretto::kernels
