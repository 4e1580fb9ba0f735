// SPDX-License-Identifier: Apache-2.0
// SipHash-2-4 with 128 bits: a keyed hash that shows knowledge of a secret (Aumasson and Bernstein, "SipHash:
// a fast short-input PRF", 2012; https://github.com/veorq/SipHash has the test vectors).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace stretto {

using SipKey = std::array<std::byte, 16>;
using SipTag = std::array<std::byte, 16>;

SipTag siphash(const SipKey& key, std::span<const std::byte> text);

/// Compares in a time that does not depend on where the tags differ.
bool are_equal(const SipTag& one, const SipTag& other);

/// Fills the memory with random bytes that nobody can guess. Throws std::system_error if the kernel has none.
void fill_randomly(std::span<std::byte> memory);

}  // namespace stretto
