// SPDX-License-Identifier: Apache-2.0
#include "bench/cases/mockup.hpp"

#include <algorithm>
#include <charconv>
#include <stdexcept>

namespace stretto::bench {
namespace {

constexpr std::size_t most_divisor = 64;

[[noreturn]] void refuse(std::string_view text) {
  throw std::invalid_argument(
      "--mockups " + std::string(text) +
      ": expected collectives, or parts of them, with + between, e.g. reduce+bcast or "
      "allreduce/2+allreduce/2");
}

Mockup::Part parse_part(std::string_view part, std::string_view text) {
  const std::size_t slash = part.find('/');
  const auto collective = find_mpi_function(part.substr(0, slash));
  if (!collective) refuse(text);
  if (slash == std::string_view::npos) return {*collective};
  const std::string_view number = part.substr(slash + 1);
  std::size_t divisor = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), divisor);
  const bool whole = error == std::errc{} && end == number.data() + number.size();
  if (!whole || divisor < 1 || divisor > most_divisor) refuse(text);
  return {*collective, divisor};
}

}  // namespace

Mockup parse_mockup(std::string_view text) {
  Mockup mockup{std::string(text), {}};
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('+', begin), text.size());
    mockup.parts.push_back(parse_part(text.substr(begin, end - begin), text));
    begin = end + 1;
  }
  return mockup;
}

}  // namespace stretto::bench
