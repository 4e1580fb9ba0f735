// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>

namespace stretto {

/// Whether two buffers of these lengths share any byte.
inline bool overlap(const void* one, std::size_t one_bytes, const void* other, std::size_t other_bytes) {
  if (one_bytes == 0 || other_bytes == 0) return false;
  const std::less<> before;  // for any two addresses
  const auto* const one_begin = static_cast<const std::byte*>(one);
  const auto* const other_begin = static_cast<const std::byte*>(other);
  return before(one_begin, other_begin + other_bytes) && before(other_begin, one_begin + one_bytes);
}

}  // namespace stretto
