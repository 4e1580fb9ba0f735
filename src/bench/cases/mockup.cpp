// SPDX-License-Identifier: Apache-2.0
#include "bench/cases/mockup.hpp"

#include <algorithm>
#include <stdexcept>

#include "text/size.hpp"

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
  const auto divisor = parse_whole(part.substr(slash + 1));
  if (!divisor || *divisor < 1 || *divisor > most_divisor) refuse(text);
  return {*collective, *divisor};
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
