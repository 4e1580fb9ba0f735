// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace stretto {

/// How near two ranks are: what a message between them crosses.
enum class Level : std::uint8_t { socket, node, network };
inline constexpr std::size_t level_count = 3;

/// How messages of `from` bytes and more go: `latency` seconds plus bytes / `bandwidth`, when nothing else is
/// under way.
struct Protocol {
  std::size_t from = 0;
  double latency = 0;
  double bandwidth = 0;
  /// The transfer begins when the receive is posted (rendezvous). Else the message is handed over, and the
  /// sender goes on.
  bool synchronous = false;
  // 1: both directions at once, as if there were one of them; 0: one after the other.
  double duplex = 1;    // a rank sends to one rank and receives from another
  double exchange = 1;  // two ranks send to each other (over TCP they share a connection)
};

/// What messages of several ranks share. 0: without limit.
struct Limit {
  double bandwidth = 0;     // bytes per second
  double message_rate = 0;  // messages per second
  /// What a link that was idle has saved up: so many bytes pass at the speed of the level (a token bucket).
  double burst = 0;
};

/// From so many bytes of a vector on, this many bytes of an operand are reduced in a second.
struct ReductionRate {
  std::size_t from = 0;
  double bandwidth = 0;
};

/// What the models know of a cluster. docs/formats.md says how it is written and measured.
struct Machine {
  std::string name;
  std::string description;
  /// [level] ascending by `from`, the first from 0; none of them empty.
  std::array<std::vector<Protocol>, level_count> levels;
  Limit node;                            // what enters, and what leaves, one node over the network
  Limit memory;                          // the messages inside one node
  Limit fabric;                          // all messages between nodes
  std::vector<ReductionRate> reduction;  // ascending; empty: reductions take no time
  // What Stretto's engine adds, in seconds of a core:
  double engine_message = 0;  // for a message at each of its ends
  double engine_round = 0;

  [[nodiscard]] const Protocol& protocol(Level level, std::size_t bytes) const;
  /// Seconds that it takes to reduce a byte of a vector of so many.
  [[nodiscard]] double reduction_seconds(std::size_t vector_bytes) const;
};

}  // namespace stretto
