// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "learn/races/policies.hpp"
#include "learn/races/rest.hpp"
#include "learn/races/trial.hpp"

namespace stretto {

/// Finds out whether long messages go better through the caches or past them. Between two cores of one
/// last-level cache, a piece that a core has written is read best from that cache. Between others, a line
/// that one core has written and another one has, or wants, takes several times as long as one in memory.
/// No processor says for sure which of the two cases a job has (and a virtual machine may move).
///
/// It is a matter of each rank alone: what it writes is the same. So ranks need not agree.
class StreamingRace {
 public:
  enum class Way : std::uint8_t {
    cached,
    into_store,  // what others read goes past the caches
    everywhere,  // and so does what the program gets
  };
  static constexpr std::size_t ways = 3;

  /// `taking_part`: the first so many ways.
  explicit StreamingRace(std::size_t taking_part) : ways_(taking_part) {}

  /// How the next call is to be made. After it, call count() with its seconds.
  [[nodiscard]] Way next() const {
    return quiet_ == 0 && trial_.next() == Trial::Side::challenger ? challenger_ : winner_;
  }
  void count(double seconds);

  /// The way in force.
  [[nodiscard]] Way winner() const { return winner_; }

 private:
  void end_trial(bool challenger_won);

  std::size_t ways_;
  Way winner_ = Way::cached;
  Way challenger_ = Way::into_store;
  Trial trial_{policies::streaming};
  std::size_t trials_ = 0;   // since the last rest: each way that is not in force challenges it once
  double calls_lost_ = 0;    // in these
  std::uint64_t quiet_ = 0;  // calls until the next trials
  Rest rest_{policies::rest_of_streaming};
};

}  // namespace stretto
