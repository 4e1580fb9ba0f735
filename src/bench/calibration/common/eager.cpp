// SPDX-License-Identifier: Apache-2.0
#include "bench/calibration/common/eager.hpp"

#include <algorithm>

namespace stretto::bench {
namespace {

/// Whether messages of this size go eagerly. An attempt that says so is right. One that says "not" may have
/// been delayed.
bool goes_eagerly(Team& team, const Level& level, std::size_t bytes) {
  constexpr int tries = 3;
  constexpr double shortest = 4e-3;  // longer than a slice of a shared core
  constexpr double longest = 50e-3;
  const double wait = std::clamp(4 * level.seconds(bytes), shortest, longest);
  for (int i = 0; i < tries; ++i) {
    if (team.goes_eagerly(bytes, wait)) return true;
  }
  return false;
}

}  // namespace

EagerLimit find_eager_limit(Team& team, const Level& level, std::size_t longest,
                            const std::function<void()>& on_progress) {
  EagerLimit limit;
  const auto is_eager = [&](std::size_t bytes) {
    const bool eager = goes_eagerly(team, level, bytes);
    if (eager) {
      limit.eager = bytes;
    } else {
      limit.synchronous = bytes;
    }
    on_progress();
    return eager;
  };
  for (std::size_t bytes = 1; bytes <= longest && is_eager(bytes);) bytes *= 2;
  // Headers count against the MPI library's limits, so these sizes are not round numbers.
  constexpr std::size_t close = 4;
  while (limit.synchronous && *limit.synchronous - limit.eager > close) {
    is_eager(limit.eager + (*limit.synchronous - limit.eager) / 2);
  }
  return limit;
}

}  // namespace stretto::bench
