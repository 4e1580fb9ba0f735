// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace stretto {

/// The distance between two ranks: the level of the machine that a message between them crosses.
enum class Level : std::uint8_t { socket, node, network };
inline constexpr std::size_t level_count = 3;

/// The cost of messages of `from` bytes and more: they take `latency` seconds plus bytes / `bandwidth` if
/// nothing else is under way.
struct Protocol {
  std::size_t from = 0;
  double latency = 0;
  double bandwidth = 0;
  /// Rendezvous: the transfer begins when the receive is posted. Otherwise the message is handed over, and
  /// the sender continues.
  bool synchronous = false;
  // 1: both directions at full speed at the same time; 0: one after the other.
  double duplex = 1;    // a rank sends to one rank and receives from another
  double exchange = 1;  // two ranks send to each other (over TCP they share a connection)
  /// The bytes per second that a core passes when it sends or receives; it does nothing else meanwhile. On
  /// fast links over TCP, this decides. 0: it takes no time.
  double core = 0;

  [[nodiscard]] double core_seconds(double bytes) const { return core > 0 ? bytes / core : 0; }
};

/// A limit that the messages of several ranks share. 0: no limit.
struct Limit {
  double bandwidth = 0;     // bytes per second
  double message_rate = 0;  // messages per second
  /// A link that was idle passes this many bytes at the speed of the level (a token bucket).
  double burst = 0;
  /// Only for memory: shorter vectors stay in the caches and are not limited.
  std::size_t from = 0;
};

/// The bytes per second on which a core works if the vector has `from` bytes or more.
struct Rate {
  std::size_t from = 0;
  double bandwidth = 0;
};

/// How far one rank's core is from another rank's on a node.
enum class Distance : std::uint8_t { cache, socket, node };
inline constexpr std::size_t distance_count = 3;

/// The time of cache lines that pass between cores at a certain distance.
struct Lines {
  double latency = 0;    // until a core sees what another one has written
  double bandwidth = 0;  // at which a core reads lines that another one has written; 0: no limit
};

/// The costs of the engine's messages through the shared memory of a node (docs/shared-memory.md). Messages
/// go in pieces: the reader works on one while the writer copies the next. Lists ascend by the bytes of the
/// whole vector.
struct SharedMemory {
  double latency = 0;  // until the reader sees what has been written
  double piece = 0;    // seconds of a core for a piece, at each of its ends
  /// The same for a message that fits into a line, and for each further reader of a publication. If not set,
  /// it is as long as for a piece.
  std::optional<double> line = std::nullopt;
  std::vector<Rate> write;   // copy into the store
  std::vector<Rate> read;    // copy from another rank's store
  std::vector<Rate> reduce;  // reduction straight from another rank's store
  /// [distance] The lines' costs where they are known; else lines have `latency` and no limit.
  std::array<std::optional<Lines>, distance_count> lines{};

  /// Return the seconds of the writer's or the reader's core for a message.
  [[nodiscard]] double write_seconds(double message_bytes, std::size_t vector_bytes) const;
  [[nodiscard]] double read_seconds(double message_bytes, std::size_t vector_bytes, Distance distance) const;
  [[nodiscard]] double reduce_seconds(double message_bytes, std::size_t vector_bytes,
                                      Distance distance) const;
  [[nodiscard]] Lines lines_at(Distance distance) const {
    return lines[static_cast<std::size_t>(distance)].value_or(Lines{.latency = latency, .bandwidth = 0});
  }
  [[nodiscard]] static double pieces(double message_bytes);
  /// The part of these seconds that the message's pieces cost.
  [[nodiscard]] double overhead(double message_bytes) const;
  /// The same for a further reader of a publication.
  [[nodiscard]] double overhead_of_reader(double message_bytes) const {
    return pieces(message_bytes) * line.value_or(piece);
  }

 private:
  /// Returns the least seconds in which the lines of a message get from core to core.
  [[nodiscard]] double passing_seconds(double message_bytes, Distance distance) const;
};

/// The ranks of `nodes` consecutive nodes share `cores` cores: the nodes are containers on one host, or there
/// are more ranks than cores. 0: each rank has a core of its own.
struct SharedCores {
  int nodes = 0;
  int cores = 0;
};

/// The costs of copies between the memory of a rank's device and host memory. A copy takes `latency` plus
/// bytes over the rate of the direction. In each direction copies come one after the other. Ranks share
/// nothing.
struct Device {
  double latency = 0;    // seconds of each copy
  double to_host = 0;    // bytes per second; 0: without limit
  double to_device = 0;  // likewise

  [[nodiscard]] double seconds(double bytes, bool is_to_host) const {
    const double rate = is_to_host ? to_host : to_device;
    return latency + (rate > 0 ? bytes / rate : 0);
  }
};

/// A cluster as the models see it. docs/formats.md says how it is written and measured.
struct Machine {
  std::string name;
  std::string description;
  /// [level] Ascending by `from`, the first from 0; none is empty.
  std::array<std::vector<Protocol>, level_count> levels;
  Limit node;  // messages into one node over the network, and out of it
  /// [node] The bandwidth of each node's link, if they differ, on a cluster of exactly that many nodes; else
  /// empty.
  std::vector<double> node_rates;
  Limit memory;                 // messages inside one node; each copy of a message counts as half of it
  Limit fabric;                 // all messages between nodes
  std::vector<Rate> reduction;  // of an operand; ascending; empty: reductions take no time
  /// If not set, the engine's messages inside a node go through the MPI library, at the costs in `levels`.
  std::optional<SharedMemory> shared;
  // The overhead of Stretto's engine, in seconds of a core:
  double engine_message = 0;  // for a message at each of its ends
  double engine_round = 0;
  SharedCores shared_cores;
  /// If not set, copies of device memory take no time.
  std::optional<Device> device;

  [[nodiscard]] const Protocol& protocol(Level level, std::size_t bytes) const;
  /// Returns the limit of one node, on a cluster of `nodes`.
  [[nodiscard]] Limit limit_of(int which, int nodes) const;
  /// Returns the seconds to reduce one byte of a vector of this many bytes.
  [[nodiscard]] double reduction_seconds(std::size_t vector_bytes) const;
};

}  // namespace stretto
