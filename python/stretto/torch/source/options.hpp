// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>

namespace stretto_torch {

template <typename Options, typename = void>
struct HasAsync : std::false_type {};
template <typename Options>
struct HasAsync<Options, std::void_t<decltype(Options::asyncOp)>> : std::true_type {};

/// Whether the caller continues without waiting. Older versions of torch do not provide this.
template <typename Options>
bool is_async(const Options& options) {
  if constexpr (HasAsync<Options>::value) return options.asyncOp;
  return true;
}

}  // namespace stretto_torch
