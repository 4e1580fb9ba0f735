// SPDX-License-Identifier: Apache-2.0
// The links that join the nodes of a job. A node may have several, each with an address and a network of its
// own. A connection has its own rail, and goes over another one while that is out of order: the kernel says
// so, of this node's links at once; the other rank says it of its links; or what was sent gets no answer for
// some round trips, as where a firewall drops it. Nothing is lost by that (sockets/connection.hpp).
#pragma once

#include <algorithm>
#include <bitset>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "sockets/address.hpp"
#include "sockets/limit_clock.hpp"
#include "sockets/socket.hpp"
#include "sockets/tcp_counters.hpp"

namespace stretto {

constexpr std::size_t most_rails = 4;
using RailSet = std::bitset<most_rails>;

/// Returns those of this node's rails whose link is down, or whose address has gone.
RailSet find_rails_out_of_order(std::span<const Address> rails);

/// What a connection finds out about its rail: whether the one that it uses is silent, and whether its own
/// one carries something again.
class RailTrial {
 public:
  using Clock = LimitClock;

  /// To be called when the connection begins. The more often it does, the more patience.
  void note_beginning() {
    waits_since_.reset();
    patience_ = std::min(2 * patience_, longest_patience);
  }
  /// To be called when it is made.
  void note_made() { patience_ = least_patience; }
  /// Whether packets wait for an answer, and none has come, for longer than several round trips. To be asked
  /// again and again.
  bool is_silent(Clock::time_point now, bool packets_wait, std::uint64_t answered,
                 Clock::duration round_trip);
  /// Whether a connection that `open` begins was made. Tries it now and then, less often each time.
  template <typename Open>
  bool carries(Clock::time_point now, const Open& open) {
    if (!probe_) {
      if (now < next_probe_) return false;
      probe_ = open();
      probe_ends_ = now + longest_probe;
      return false;
    }
    const bool is_made = is_connected(probe_);
    if (is_made || now > probe_ends_) {
      probe_.close();
      next_probe_ = now + (pause_ = std::min(2 * pause_, longest_pause));
    }
    return is_made;
  }

 private:
  /// A kernel sends a lost packet again after 200 ms, and answers after 40 ms at the latest.
  static constexpr Clock::duration least_patience = std::chrono::milliseconds(150);
  static constexpr Clock::duration longest_patience = std::chrono::seconds(3);
  static constexpr std::chrono::milliseconds longest_probe{500};
  static constexpr Clock::duration longest_pause = std::chrono::seconds(30);
  static bool is_connected(const Socket& socket);

  Clock::duration patience_ = least_patience / 2;
  std::uint64_t answered_ = 0;
  std::optional<Clock::time_point> waits_since_;
  Socket probe_;
  Clock::time_point probe_ends_{};
  Clock::time_point next_probe_{};
  Clock::duration pause_ = std::chrono::milliseconds(500);
};

/// How fast a connection is where its rail is busy.
class RailRate {
 public:
  using Clock = LimitClock;

  /// To be called when the connection begins: the kernel counts from 0 again.
  void note_beginning() { last_ = {}; }
  void note(Clock::time_point now, const TcpDelivery& counted);
  /// Bytes per second; nothing before it was measured. A rail that is not used may have become faster, so the
  /// figure grows by itself.
  [[nodiscard]] std::optional<double> at(Clock::time_point now) const;

 private:
  TcpDelivery last_;
  double rate_ = 0;
  Clock::time_point measured_{};
};

}  // namespace stretto
