// SPDX-License-Identifier: Apache-2.0
#pragma once

// The results that kernels must compute, one element at a time, by the contract in kernels/reduce.hpp and
// without code from there.

#include <cmath>
#include <complex>
#include <type_traits>

#include "kernels/reduce.hpp"

namespace stretto::kernels::reference {

// volatile: no fused product and sum, no reordered operands, whatever flags the tests are compiled with.
template <class T>
T add(T left, T right) {
  if (std::isnan(left)) return left;
  volatile T a = left;
  volatile T b = right;
  return a + b;
}

template <class T>
T subtract(T left, T right) {
  if (std::isnan(left)) return left;
  volatile T a = left;
  volatile T b = right;
  return a - b;
}

template <class T>
T multiply(T left, T right) {
  if (std::isnan(left)) return left;
  volatile T a = left;
  volatile T b = right;
  return a * b;
}

template <class T>
T real_number(Op op, T left, T right) {
  switch (op) {
    case Op::sum:
      return add(left, right);
    case Op::prod:
      return multiply(left, right);
    case Op::min:
      return std::isless(right, left) ? right : left;
    default:
      return std::isgreater(right, left) ? right : left;
  }
}

template <class T>
std::complex<T> complex_number(Op op, std::complex<T> left, std::complex<T> right) {
  const T a = left.real(), b = left.imag(), c = right.real(), d = right.imag();
  if (op == Op::sum) return {add(a, c), add(b, d)};
  return {subtract(multiply(a, c), multiply(b, d)), add(multiply(a, d), multiply(b, c))};
}

// 128 bits do not overflow; the conversion back wraps.
template <class T>
T integer(Op op, T left, T right) {
  __extension__ using Wide = __int128;
  __extension__ using UnsignedWide = unsigned __int128;
  const Wide a = left;
  const Wide b = right;
  switch (op) {
    case Op::sum:
      return static_cast<T>(a + b);
    case Op::prod:
      return static_cast<T>(static_cast<UnsignedWide>(a) * static_cast<UnsignedWide>(b));
    case Op::min:
      return static_cast<T>(a < b ? a : b);
    case Op::max:
      return static_cast<T>(a > b ? a : b);
    case Op::land:
      return a != 0 && b != 0;
    case Op::lor:
      return a != 0 || b != 0;
    case Op::lxor:
      return (a != 0) != (b != 0);
    case Op::band:
      return static_cast<T>(a & b);
    case Op::bor:
      return static_cast<T>(a | b);
    case Op::bxor:
      return static_cast<T>(a ^ b);
  }
  return 0;
}

template <class T>
T element(Op op, T left, T right) {
  if constexpr (std::is_integral_v<T>) {
    return integer(op, left, right);
  } else if constexpr (std::is_floating_point_v<T>) {
    return real_number(op, left, right);
  } else {
    return complex_number(op, left, right);
  }
}

}  // namespace stretto::kernels::reference
