// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace stretto {

/// A hash that is the same in every process: FNV-1a, of numbers or of letters.
class Hash {
 public:
  void add(std::uint64_t number) { sum_ = (sum_ ^ number) * 1099511628211U; }
  void add(std::string_view text) {
    for (const char letter : text) add(std::uint64_t{static_cast<unsigned char>(letter)});
  }
  [[nodiscard]] std::uint64_t sum() const { return sum_; }

 private:
  std::uint64_t sum_ = 14695981039346656037U;
};

inline std::uint64_t hash_of(std::string_view text) {
  Hash hash;
  hash.add(text);
  return hash.sum();
}

}  // namespace stretto
