// SPDX-License-Identifier: Apache-2.0

// The kernels as plain loops: what the others must equal to the bit, what processors without SSE4 get, and
// the only ones for long double.

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

template <Op op, class T>
T combine(T left, T right) {
  if constexpr (op == Op::sum && is_complex<T>) {
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
    // 1u: short operands would otherwise be promoted to int and overflow it.
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

// Elements are copied, because the caller's may have another type of the same shape (long for long long,
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

}  // namespace

constinit const Target plain_target{"plain", always, TableBuilder<Plain>::build()};

}  // namespace stretto::kernels
