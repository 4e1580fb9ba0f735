// SPDX-License-Identifier: Apache-2.0

// The kernels as plain loops. The other kernels must return the same bits. Processors without SSE4 use these
// kernels, and all processors use them for long double.

#include <cstring>

#include "kernels/dispatch.hpp"

#ifdef __FAST_MATH__
#error "NaN, signed zeros and rounding are part of the contract: compile the kernels without -ffast-math"
#endif

namespace stretto::kernels {
namespace {

template <class T>
T keep_left_nan(T left, T result) {
  return left != left ? left : result;
}

template <class To, class From>
To bits_as(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof(To));
  return to;
}

float widen(Half half) {
  const std::uint32_t sign = (half.bits & 0x8000U) << 16U;
  const std::uint32_t rest = half.bits & 0x7FFFU;
  if (rest < 0x0400) {  // subnormal: whole multiples of 2^-24
    const float value = static_cast<float>(rest) * 0x1p-24F;
    return bits_as<float>(sign | bits_as<std::uint32_t>(value));
  }
  const std::uint32_t bits =
      rest < 0x7C00 ? (rest << 13U) + ((127U - 15U) << 23U) : (rest << 13U) | 0x7F800000U;
  return bits_as<float>(sign | bits);
}

float widen(BFloat value) {
  return bits_as<float>(static_cast<std::uint32_t>(value.bits) << 16U);
}

// Rounds to nearest, ties to even: adds half of what is cut off, minus one bit if the result is even.
void narrow(float value, Half& half) {
  const auto bits = bits_as<std::uint32_t>(value);
  const std::uint32_t rest = bits & 0x7FFFFFFFU;
  std::uint32_t result = 0;
  if (rest > 0x7F800000) {  // NaN
    result = 0x7E00 | (rest >> 13U & 0x03FFU);
  } else if (rest >= 0x47800000) {  // 2^16 and more
    result = 0x7C00;
  } else if (rest < 0x38800000) {  // below 2^-14: a sum with 0.5 is rounded at the same bit as a subnormal
    result = bits_as<std::uint32_t>(bits_as<float>(rest) + 0.5F) - bits_as<std::uint32_t>(0.5F);
  } else {
    result = (rest + 0x0FFF + (rest >> 13U & 1U) - ((127U - 15U) << 23U)) >> 13U;
  }
  half.bits = static_cast<std::uint16_t>((bits >> 16U & 0x8000U) | result);
}

void narrow(float value, BFloat& result) {
  const auto bits = bits_as<std::uint32_t>(value);
  const bool is_nan = (bits & 0x7FFFFFFFU) > 0x7F800000;
  result.bits = static_cast<std::uint16_t>(is_nan ? bits >> 16U | 0x0040U
                                                  : (bits + 0x7FFF + (bits >> 16U & 1U)) >> 16U);
}

template <Op op, class T>
T combine(T left, T right);

template <Op op, class T>
T combine_short(T left, T right) {
  const float a = widen(left);
  const float b = widen(right);
  if constexpr (op == Op::min) return b < a ? right : left;
  if constexpr (op == Op::max) return a < b ? right : left;
  T result{};
  narrow(combine<op>(a, b), result);
  return a == a ? result : left;
}

template <Op op, class T>
T combine(T left, T right) {
  if constexpr (is_short_float<T>) {
    return combine_short<op>(left, right);
  } else if constexpr (op == Op::sum && is_complex<T>) {
    return {combine<Op::sum>(left.real, right.real), combine<Op::sum>(left.imaginary, right.imaginary)};
  } else if constexpr (op == Op::prod && is_complex<T>) {
    const auto real = combine<Op::prod>(left.real, right.real);
    const auto imaginary = combine<Op::prod>(left.real, right.imaginary);
    return {keep_left_nan(real, real - combine<Op::prod>(left.imaginary, right.imaginary)),
            combine<Op::sum>(imaginary, combine<Op::prod>(left.imaginary, right.real))};
  } else if constexpr (std::is_floating_point_v<T> && op == Op::sum) {
    return keep_left_nan(left, left + right);
  } else if constexpr (std::is_floating_point_v<T> && op == Op::prod) {
    return keep_left_nan(left, left * right);
  } else if constexpr (op == Op::sum) {
    return static_cast<T>(left + right);
  } else if constexpr (op == Op::prod) {
    // 1U: otherwise short operands would be promoted to int and overflow it.
    return static_cast<T>(1U * left * right);
  } else if constexpr (op == Op::min) {
    return right < left ? right : left;
  } else if constexpr (op == Op::max) {
    return left < right ? right : left;
  } else if constexpr (op == Op::land) {
    return static_cast<T>((left != 0) & (right != 0));
  } else if constexpr (op == Op::lor) {
    return static_cast<T>((left | right) != 0);
  } else if constexpr (op == Op::lxor) {
    return static_cast<T>((left != 0) != (right != 0));
  } else if constexpr (op == Op::band) {
    return left & right;
  } else if constexpr (op == Op::bor) {
    return left | right;
  } else {
    static_assert(op == Op::bxor);
    return left ^ right;
  }
}

// Copies the element, because the caller's type may be another one of the same layout (long for long long,
// _Bool, std::complex).
template <class T>
T load(const unsigned char* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

struct Plain {
  template <Op op, class T>
  static void reduce(void* into, const void* left, const void* right, std::size_t count) {
    auto* const out = static_cast<unsigned char*>(into);
    const auto* const a = static_cast<const unsigned char*>(left);
    const auto* const b = static_cast<const unsigned char*>(right);
    for (std::size_t i = 0; i < count; ++i) {
      const T result = combine<op>(load<T>(a + i * sizeof(T)), load<T>(b + i * sizeof(T)));
      std::memcpy(out + i * sizeof(T), &result, sizeof(T));
    }
  }

  template <Op op, class T>
  static constexpr Function function() {
    return &reduce<op, T>;
  }
};

bool always() noexcept {
  return true;
}

void copy(void* into, const void* from, std::size_t bytes) {
  if (bytes > 0) std::memcpy(into, from, bytes);  // the pointers may be null otherwise
}

}  // namespace

constinit const Target plain_target{"plain", always, TableBuilder<Plain>::build(), copy, copy};

}  // namespace stretto::kernels
