// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "bench/cases/cases.hpp"
#include "bench/cases/pattern.hpp"
#include "bench/measure/buffers.hpp"
#include "bench/measure/calls.hpp"

namespace stretto::bench {

/// What the calls of one role work on: the buffers, what is in them before, and what must be there after. A
/// row of calls takes the pairs of buffers in turns, and the next row goes on where it ended.
class Stage {
 public:
  /// At most so many pairs, in so many bytes.
  Stage(const Role& role, const Element& element, const Pattern& pattern, std::size_t most_pairs,
        std::size_t budget);

  const Role& role() const noexcept { return role_; }
  Buffers& buffers() noexcept { return buffers_; }
  std::size_t pairs() const noexcept { return buffers_.pairs(); }
  /// The buffers of a call of the row.
  std::size_t pair(std::size_t call) const noexcept { return (first_ + call) % buffers_.pairs(); }

  /// New data for the next `inner` calls. There are as many pairs if they are in place; else calls take
  /// turns, as they find what they read unchanged.
  void prepare(Call& call, std::size_t inner, std::uint64_t generation);
  /// After a single call: everything.
  bool holds_all();
  /// After a row: some places in the result of one of its calls.
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
