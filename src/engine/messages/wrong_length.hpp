// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

namespace stretto {

/// A message that is not as long as its receiver expects, since ranks call with different lengths.
struct WrongLength {
  int peer = 0;              // its sender, as the execution counts
  std::size_t expected = 0;  // bytes
  std::size_t arrived = 0;   // bytes
  bool goes_on = false;      // more bytes follow

  [[nodiscard]] std::string text() const {
    return "expects " + std::to_string(expected) + " bytes and gets " + std::to_string(arrived) +
           (goes_on ? " or more" : "");
  }
};

}  // namespace stretto
