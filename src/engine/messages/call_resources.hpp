// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace stretto {

/// What one call has of its channel: tags for its messages by MPI, lanes of shared memory, and whether
/// connections between nodes carry some. The same on all ranks.
struct CallResources {
  /// The most lanes that a channel has, and a call.
  static constexpr std::size_t most_lanes = 8;
  static constexpr std::int8_t none = -1;
  static constexpr std::size_t no_connections = static_cast<std::size_t>(-1);

  /// The tag of the first segment in flight; the next one has the next tag, and so on.
  int first_tag = 0;
  /// [segment in flight] `none`, as for segments beyond: all of its messages go by MPI.
  std::array<std::int8_t, most_lanes> lanes{none, none, none, none, none, none, none, none};

  /// Connections carry messages between nodes of so many bytes or more (engine/messages/connections.hpp).
  std::size_t connections_from = no_connections;

  [[nodiscard]] int lane(std::size_t in_flight) const {
    return in_flight < lanes.size() ? lanes[in_flight] : none;
  }
};

}  // namespace stretto
