// SPDX-License-Identifier: Apache-2.0

// float16 and bfloat16 on every instruction set against separate references: the compiler's _Float16, and
// for bfloat16 the nearer one of two neighbours in double precision.

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "kernels/dispatch.hpp"

namespace stretto::kernels {
namespace {

using Bits = std::uint16_t;

float half_value(Bits bits) {
  return static_cast<float>(std::bit_cast<_Float16>(bits));
}

float bfloat_value(Bits bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16U);
}

Bits nearest_half(double value) {
  return std::bit_cast<Bits>(static_cast<_Float16>(static_cast<float>(value)));
}

/// Returns the nearer of the two bfloat16 around a float. The number after the largest one would be 2^128.
Bits nearest_bfloat(double value) {
  const auto single = static_cast<float>(value);
  const auto below = static_cast<Bits>(std::bit_cast<std::uint32_t>(single) >> 16U);
  if (std::isinf(single) || bfloat_value(below) == single) return below;
  const auto above = static_cast<Bits>(below + 1);
  const double next = std::isinf(bfloat_value(above)) ? std::copysign(0x1p128, value) : bfloat_value(above);
  const double to_below = std::fabs(static_cast<double>(single) - bfloat_value(below));
  const double to_above = std::fabs(next - static_cast<double>(single));
  if (to_below == to_above) return below % 2 == 0 ? below : above;
  return to_below < to_above ? below : above;
}

struct Kind {
  Type type;
  float (*value)(Bits);
  Bits (*nearest)(double);
  Bits quiet;  // the bit that makes a NaN quiet
};

constexpr std::array kinds{Kind{Type::f16, half_value, nearest_half, 0x0200},
                           Kind{Type::bf16, bfloat_value, nearest_bfloat, 0x0040}};

/// The result, or one NaN for all of them.
Bits expected(const Kind& kind, Op op, Bits left, Bits right) {
  const float a = kind.value(left);
  const float b = kind.value(right);
  if (op == Op::min) return std::isless(b, a) ? right : left;
  if (op == Op::max) return std::isless(a, b) ? right : left;
  if (std::isnan(a)) return left;
  if (std::isnan(b)) return static_cast<Bits>(right | kind.quiet);
  // Exact in double: products have 22 bits. Sums are rounded to float first, which is harmless (24 bits are
  // twice 11 and two).
  const double exact = op == Op::sum ? static_cast<double>(a) + b : static_cast<double>(a) * b;
  return kind.nearest(exact);
}

std::vector<Bits> right_operands(const Kind& kind) {
  std::mt19937 random(7);
  std::vector<Bits> operands = {0x0000, 0x8000,
                                0x0001, 0x8001,
                                0x03FF, 0x0400,
                                0x7BFF, 0x7C00,
                                0xFC00, 0x7C01,
                                0x7E00, 0xFE05,
                                0x3C00, 0xBC00,
                                0x7F7F, 0x7F80,
                                0xFF80, 0x7FC1,
                                0x3F80, 0x0080,
                                0x007F, static_cast<Bits>(kind.quiet - 1)};
  for (int i = 0; i < 20; ++i) operands.push_back(static_cast<Bits>(random()));
  return operands;
}

TEST(ShortFloats, EveryValueWithManyOthers) {
  std::vector<Bits> left(65536);
  for (std::size_t i = 0; i < left.size(); ++i) left[i] = static_cast<Bits>(i);
  for (const Kind& kind : kinds) {
    for (const Op op : {Op::sum, Op::prod, Op::min, Op::max}) {
      for (const Bits other : right_operands(kind)) {
        const std::vector<Bits> right(left.size(), other);
        for (const Target* target : targets()) {
          if (!target->supported()) continue;
          std::vector<Bits> into(left.size());
          find(*target, kind.type, op)(into.data(), left.data(), right.data(), left.size());
          for (std::size_t i = 0; i < left.size(); ++i) {
            const Bits wanted = expected(kind, op, left[i], other);
            // Infinity minus infinity, or zero times infinity: a NaN from the processor.
            const bool made = std::isnan(kind.value(wanted)) && !std::isnan(kind.value(left[i])) &&
                              !std::isnan(kind.value(other));
            if (made ? std::isnan(kind.value(into[i])) : into[i] == wanted) continue;
            FAIL() << target->name << " type " << static_cast<int>(kind.type) << " op "
                   << static_cast<int>(op) << std::hex << ": " << left[i] << " with " << other << " is "
                   << into[i] << ", not " << wanted;
          }
        }
      }
    }
  }
}

TEST(ShortFloats, AllTargetsAgreeOnTheNansThatTheyMake) {
  for (const Kind& kind : kinds) {
    const Bits infinity = kind.type == Type::f16 ? 0x7C00 : 0x7F80;
    const std::vector<Bits> left(40, infinity);
    const std::vector<Bits> right(40, static_cast<Bits>(infinity | 0x8000));
    std::vector<Bits> plain(40);
    find(plain_target, kind.type, Op::sum)(plain.data(), left.data(), right.data(), 40);
    for (const Target* target : targets()) {
      if (!target->supported()) continue;
      std::vector<Bits> into(40);
      find(*target, kind.type, Op::sum)(into.data(), left.data(), right.data(), 40);
      EXPECT_EQ(into, plain) << target->name;
    }
  }
}

TEST(ShortFloats, OverAnOperandAndAtAnyPlace) {
  std::mt19937 random(11);
  for (const Kind& kind : kinds) {
    for (std::size_t count = 0; count < 140; ++count) {
      std::vector<Bits> left(count + 3);
      std::vector<Bits> right(count + 3);
      for (std::size_t i = 0; i < count + 3; ++i) {
        left[i] = static_cast<Bits>(random());
        right[i] = static_cast<Bits>(random());
      }
      std::vector<Bits> wanted(left);
      const std::size_t shift = count % 3;
      find(plain_target, kind.type, Op::sum)(&wanted[shift], &left[shift], &right[shift], count);
      find(kind.type, Op::sum)(&left[shift], &left[shift], &right[shift], count);
      EXPECT_EQ(left, wanted) << count;
    }
  }
}

}  // namespace
}  // namespace stretto::kernels
