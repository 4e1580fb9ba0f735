// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace stretto::bench {

/// Returns NAME of native(NAME), an algorithm of the MPI library; empty for any other spec.
constexpr std::string_view library_algorithm_in(std::string_view spec) {
  constexpr std::string_view begin = "native(";
  if (!spec.starts_with(begin) || !spec.ends_with(')')) return {};
  return spec.substr(begin.size(), spec.size() - begin.size() - 1);
}

}  // namespace stretto::bench
