// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "bench/cases/cases.hpp"
#include "bench/cases/pattern.hpp"
#include "bench/measure/buffers.hpp"
#include "bench/measure/calls.hpp"

namespace stretto::bench {

/// The buffers on which the calls of one role work, their contents before, and what they must hold after. The
/// calls of a row use the pairs of buffers in turn, and the next row goes on where it ended.
class Stage {
 public:
  /// Makes at most `most_pairs` pairs of buffers, in `budget` bytes.
  Stage(const Role& role, const Element& element, const Pattern& pattern, std::size_t most_pairs,
        std::size_t budget);

  const Role& role() const noexcept { return role_; }
  Buffers& buffers() noexcept { return buffers_; }
  std::size_t pairs() const noexcept { return buffers_.pairs(); }
  /// Returns the buffers of a call of the row.
  std::size_t pair(std::size_t call) const noexcept { return (first_ + call) % buffers_.pairs(); }

  /// Writes new data for the next `inner` calls. In place, there are as many pairs as calls. Otherwise calls
  /// may share pairs, because their input stays unchanged.
  void prepare(Call& call, std::size_t inner, std::uint64_t generation);
  /// Checks everything after a single call.
  bool holds_all();
  /// Checks some places in the result of one of the calls of a row.
  bool holds_sampled(std::size_t inner);

 private:
  std::byte* input(std::size_t call) noexcept { return buffers_.input(pair(call)); }
  std::byte* output(std::size_t call) noexcept { return buffers_.output(pair(call)); }

  Role role_;
  const Pattern& pattern_;
  Buffers buffers_;
  std::uint64_t generation_ = 0;
  std::size_t first_ = 0;
  std::size_t next_ = 0;
};

}  // namespace stretto::bench
