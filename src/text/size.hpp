// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace stretto {

inline constexpr std::size_t kibibyte = 1024;
inline constexpr std::size_t mebibyte = 1024 * kibibyte;

/// Parses a whole number such as `123`. Returns nothing for any other text, and from 2^64 on.
std::optional<std::uint64_t> parse_whole(std::string_view text);

/// Parses a number of bytes: `4096`, `64KiB`, `1MiB`, `2GiB`. Returns nothing for any other text, and from
/// 2^64 on.
std::optional<std::uint64_t> parse_size(std::string_view text);

/// Returns the size in the largest unit that divides it. parse_size() of that text returns the same number.
std::string size_text(std::uint64_t bytes);

}  // namespace stretto
