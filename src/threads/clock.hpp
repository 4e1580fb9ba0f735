// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace stretto {

/// Returns the seconds of a clock that never goes back.
inline double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace stretto
