// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bench/cases/cases.hpp"
#include "bench/cases/pattern.hpp"

namespace stretto::bench {

/// A run of a buffer's elements and its content.
struct Piece {
  std::size_t at;
  std::size_t count;
  Content content;
};

/// The contents of the two buffers of a rank, each in ascending order of place.
struct Holdings {
  std::vector<Piece> input;
  std::vector<Piece> output;
};

/// Returns what is written into the buffers before a call of that generation. The rest may hold anything.
Holdings holdings_before(const Role& role, std::uint64_t generation);
/// Returns what the buffers must hold after the call: the result, and the unchanged input.
Holdings holdings_after(const Role& role, std::uint64_t generation);

void fill(const Pattern& pattern, const std::vector<Piece>& pieces, std::byte* buffer);
bool hold(const Pattern& pattern, const std::vector<Piece>& pieces, const std::byte* buffer);
/// Checks both ends of the buffer's `count` elements and some places between, others in each generation.
bool hold_sampled(const Pattern& pattern, const std::vector<Piece>& pieces, const std::byte* buffer,
                  std::size_t count, std::uint64_t generation);

}  // namespace stretto::bench
