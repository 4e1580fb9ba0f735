// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cerrno>
#include <cstring>
#include <string>

namespace stretto {

/// Returns what failed, and the reason that errno gives.
inline std::string failure(const std::string& what) {
  return what + ": " + std::strerror(errno);
}

}  // namespace stretto
