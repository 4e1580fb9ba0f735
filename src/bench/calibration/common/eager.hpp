// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <optional>

#include "bench/calibration/common/site.hpp"
#include "bench/calibration/common/team.hpp"

namespace stretto::bench {

/// The message size from which on the MPI library makes a sender wait until the receive is posted
/// (rendezvous).
struct EagerLimit {
  std::size_t eager = 0;  // the longest message found whose sender does not wait; 0: none
  std::optional<std::size_t>
      synchronous;  // the shortest longer one whose sender waits; empty if there is none
};

/// Searches by bisection. Only for the leader of a team. `on_progress` is called after each attempt.
EagerLimit find_eager_limit(Team& team, const Level& level, std::size_t longest,
                            const std::function<void()>& on_progress);

}  // namespace stretto::bench
