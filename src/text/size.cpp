// SPDX-License-Identifier: Apache-2.0
#include "text/size.hpp"

#include <array>
#include <charconv>
#include <limits>

namespace stretto {
namespace {

struct Unit {
  std::string_view name;
  std::uint64_t bytes;
};

/// Largest first: sizes are written in the largest unit that divides them.
constexpr std::array<Unit, 3> units{{{"GiB", 1ULL << 30}, {"MiB", 1ULL << 20}, {"KiB", 1ULL << 10}}};

}  // namespace

std::optional<std::uint64_t> parse_whole(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<std::uint64_t> parse_size(std::string_view text) {
  for (const Unit& unit : units) {
    if (!text.ends_with(unit.name)) continue;
    const auto count = parse_whole(text.substr(0, text.size() - unit.name.size()));
    if (!count || *count > std::numeric_limits<std::uint64_t>::max() / unit.bytes) return std::nullopt;
    return *count * unit.bytes;
  }
  return parse_whole(text);
}

std::string size_text(std::uint64_t bytes) {
  for (const Unit& unit : units) {
    if (bytes != 0 && bytes % unit.bytes == 0) {
      return std::to_string(bytes / unit.bytes) + std::string(unit.name);
    }
  }
  return std::to_string(bytes);
}

}  // namespace stretto
