// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace stretto {

/// The resources of its channel that one call has: tags for its messages by MPI, lanes of shared memory, and
/// whether connections carry some of its messages between nodes. They are the same on all ranks.
struct CallResources {
  /// The most lanes of a channel, and of a call.
  static constexpr std::size_t most_lanes = 8;
  static constexpr std::int8_t none = -1;
  static constexpr std::size_t no_connections = static_cast<std::size_t>(-1);

  /// The tag of the first segment in flight; the next one has the next tag, and so on.
  int first_tag = 0;
  /// [segment in flight] Its lane. With `none`, as for segments beyond these, all of its messages go by MPI.
  std::array<std::int8_t, most_lanes> lanes{none, none, none, none, none, none, none, none};

  /// Connections carry messages between nodes of at least this many bytes (engine/messages/connections.hpp).
  std::size_t connections_from = no_connections;

  [[nodiscard]] int lane(std::size_t in_flight) const {
    return in_flight < lanes.size() ? lanes[in_flight] : none;
  }
};

}  // namespace stretto
