// SPDX-License-Identifier: Apache-2.0
#include "progress/rules.hpp"

#include <algorithm>
#include <utility>

namespace stretto {

bool HelperRules::must_poll(const ProgressState& state) {
  idle_ticks_ = state.outstanding > 0 ? 0 : idle_ticks_ + 1;
  const bool is_replaced = std::exchange(stand_ins_, state.stand_ins) != state.stand_ins;
  stands_aside_ = is_replaced && state.blocked == 0;
  only_listens_ = state.listens && state.outstanding == 0;
  if (stands_aside_ || state.polling > 0) return false;
  if (state.outstanding == 0) return state.listens;
  return state.blocked > 0 || !state.is_guarded;
}

std::optional<HelperRules::Time> HelperRules::after(Found found) {
  if (stands_aside_) return stand_in_tick;
  if (only_listens_) return listening_tick;
  switch (found) {
    case Found::something:
      nap_ = std::max(nap_ / 4, shortest_nap);
      return Time::zero();
    case Found::nothing:
      return std::exchange(nap_, std::min(2 * nap_, longest_nap));
    case Found::not_needed:
      break;
  }
  if (idle_ticks_ >= ticks_until_dormant) return std::nullopt;
  return tick;
}

}  // namespace stretto
