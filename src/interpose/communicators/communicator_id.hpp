// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <tuple>

namespace stretto {

/// Identifies a communicator, with the same value on all of its ranks.
struct CommunicatorId {
  /// A hash of its ranks in MPI_COMM_WORLD.
  std::uint64_t group = 0;
  /// Numbers the communicators of the same ranks, in the order of their first calls.
  std::uint64_t ordinal = 0;

  friend bool operator==(const CommunicatorId&, const CommunicatorId&) = default;
  friend bool operator<(const CommunicatorId& left, const CommunicatorId& right) {
    return std::tie(left.group, left.ordinal) < std::tie(right.group, right.ordinal);
  }
};

}  // namespace stretto
