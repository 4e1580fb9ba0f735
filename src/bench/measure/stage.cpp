// SPDX-License-Identifier: Apache-2.0
#include "bench/measure/stage.hpp"

#include <algorithm>

#include "bench/cases/expectations.hpp"

namespace stretto::bench {

Stage::Stage(const Role& role, const Element& element, const Pattern& pattern, std::size_t most_pairs,
             std::size_t budget)
    : role_(role),
      pattern_(pattern),
      buffers_(role.count * element.size, role.input_count() * element.size,
               role.output_count() * element.size, most_pairs, budget) {}

void Stage::prepare(Call& call, std::size_t inner, std::uint64_t generation) {
  generation_ = generation;
  first_ = next_;
  next_ = (next_ + inner) % buffers_.pairs();
  const Holdings before = holdings_before(role_, generation_);
  for (std::size_t at = 0; at < std::min(inner, buffers_.pairs()); ++at) {
    call.prepare(pair(at));
    buffers_.renew_guards(pair(at));
    fill(pattern_, before.input, input(at));
    fill(pattern_, before.output, output(at));
  }
}

bool Stage::holds_all() {
  const Holdings after = holdings_after(role_, generation_);
  return hold(pattern_, after.input, input(0)) && hold(pattern_, after.output, output(0)) &&
         buffers_.guards_intact(pair(0));
}

bool Stage::holds_sampled(std::size_t inner) {
  const std::size_t call = generation_ % inner;
  const Holdings after = holdings_after(role_, generation_);
  return hold_sampled(pattern_, after.output, output(call), role_.output_count(), generation_) &&
         buffers_.guards_intact(pair(call));
}

}  // namespace stretto::bench
