// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <optional>

#include "bench/calibration/common/site.hpp"
#include "bench/calibration/common/team.hpp"

namespace stretto::bench {

/// The message size from which the library makes a sender wait until the receive is posted (rendezvous).
struct EagerLimit {
  std::size_t eager = 0;  // the longest message found that goes without, 0: none
  std::optional<std::size_t>
      synchronous;  // the shortest longer one that is not; empty if all sizes are eager
};

/// Searches by bisection. For the leader of a team. `on_progress` is called after each attempt.
EagerLimit find_eager_limit(Team& team, const Level& level, std::size_t longest,
                            const std::function<void()>& on_progress);

}  // namespace stretto::bench
