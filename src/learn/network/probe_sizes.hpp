// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "text/size.hpp"

/// The lengths of the probe's messages, in bytes.
namespace stretto::probe_sizes {

inline constexpr std::size_t tiny = 16;
inline constexpr std::size_t little = kibibyte;
inline constexpr std::size_t few = 4 * kibibyte;
inline constexpr std::size_t some = 32 * kibibyte;
inline constexpr std::size_t many = 256 * kibibyte;

/// The bytes that an idle link may save up. They are not measured; in clouds and on emulated links they are
/// some hundred kilobytes.
inline constexpr double saved = 256 * kibibyte;

}  // namespace stretto::probe_sizes
