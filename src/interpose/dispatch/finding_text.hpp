// SPDX-License-Identifier: Apache-2.0
// The text in which rank 0 tells the other ranks what the model says.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>

#include "select/claims.hpp"

namespace stretto {

constexpr double nano = 1e-9;

/// Returns the nanoseconds and the spec. Whole numbers: programs set locales, which write fractions in
/// different ways.
inline std::string text_of(const Finding& finding) {
  // Longer times are all alike, and their nanoseconds fit a number. A damaged file may make the model say
  // any.
  constexpr double longest = 1e6;
  return std::to_string(std::lround(std::min(finding.seconds, longest) / nano)) + ' ' +
         to_string(finding.spec);
}

/// Reads the text of text_of(), which is about a call of `bytes`.
inline Finding read_finding(const std::string& text, Collective collective, std::size_t bytes) {
  const std::size_t space = text.find(' ');
  return {.spec = parse_spec(collective, text.substr(space + 1)),
          .seconds = nano * static_cast<double>(std::stol(text.substr(0, space))),
          .bytes = bytes};
}

}  // namespace stretto
