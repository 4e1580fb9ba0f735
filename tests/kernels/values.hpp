// SPDX-License-Identifier: Apache-2.0
#pragma once

// Operands for the kernel tests: random values, and often the difficult ones.

#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

namespace stretto::kernels {

template <class T>
T nan_with_payload(bool negative, unsigned payload) {
  if constexpr (sizeof(T) == 4) {
    return std::bit_cast<T>((negative ? 0xFFC00000U : 0x7FC00000U) | payload);
  } else if constexpr (sizeof(T) == 8) {
    return std::bit_cast<T>((negative ? 0xFFF8000000000000U : 0x7FF8000000000000U) | payload);
  } else {
    const T nan = std::numeric_limits<T>::quiet_NaN();
    return negative ? -nan : nan;
  }
}

template <class T>
T special(unsigned choice) {
  using Limits = std::numeric_limits<T>;
  if constexpr (std::is_integral_v<T>) {
    const std::array values{T{0}, T{0}, T{1}, static_cast<T>(-1), Limits::min(), Limits::max()};
    return values[choice % values.size()];
  } else {
    const std::array values{T{0},
                            -T{0},
                            Limits::infinity(),
                            -Limits::infinity(),
                            Limits::max(),
                            Limits::lowest(),
                            Limits::denorm_min(),
                            -Limits::min(),
                            nan_with_payload<T>(false, 0),
                            nan_with_payload<T>(true, 5),
                            nan_with_payload<T>(false, 77)};
    return values[choice % values.size()];
  }
}

template <class T>
T random_value(std::mt19937_64& random) {
  const std::uint64_t bits = random();
  const auto choice = static_cast<unsigned>(bits >> 40);
  if constexpr (!std::is_arithmetic_v<T>) {
    const auto real = random_value<typename T::value_type>(random);
    return {real, random_value<typename T::value_type>(random)};
  } else if constexpr (std::is_same_v<T, bool>) {
    return (bits & 1) != 0;
  } else if (choice % 3 == 0) {
    return special<T>(choice / 3);
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(bits);
  } else {
    return std::uniform_real_distribution<T>(-2, 2)(random);
  }
}

template <class T>
std::vector<unsigned char> random_bytes(std::size_t count, std::mt19937_64& random) {
  std::vector<unsigned char> bytes(count * sizeof(T));
  for (std::size_t i = 0; i < count; ++i) {
    const T value = random_value<T>(random);
    __builtin_memcpy(&bytes[i * sizeof(T)], &value, sizeof(T));
  }
  return bytes;
}

}  // namespace stretto::kernels
