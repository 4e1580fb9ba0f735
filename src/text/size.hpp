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

/// `123`; empty for anything else, and for what is 2^64 or more.
std::optional<std::uint64_t> parse_whole(std::string_view text);

/// Bytes: `4096`, `64KiB`, `1MiB`, `2GiB`; empty for anything else, and for what is 2^64 or more.
std::optional<std::uint64_t> parse_size(std::string_view text);

/// In the largest unit that divides it; parse_size() of it gives the same number.
std::string size_text(std::uint64_t bytes);

}  // namespace stretto
