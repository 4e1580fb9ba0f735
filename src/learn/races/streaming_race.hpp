// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "learn/races/policies.hpp"
#include "learn/races/rest.hpp"
#include "learn/races/trial.hpp"

namespace stretto {

/// Finds out whether long messages are faster through the caches or past them. Between two cores that share a
/// last-level cache, a piece is read best from that cache. Between other cores, a line that one core has
/// written and another one has, or wants, takes several times as long as a line in memory. No processor says
/// for sure which of the two cases a job has (and a virtual machine may move).
///
/// Ranks need not agree on a way, because a rank writes the same bytes either way.
class StreamingRace {
 public:
  enum class Copying : std::uint8_t {
    cached,
    into_store,  // bytes that others read go past the caches
    everywhere,  // and so do those that the program gets
  };
  static constexpr std::size_t ways = 3;

  /// The first `taking_part` ways take part.
  explicit StreamingRace(std::size_t taking_part) : ways_(taking_part) {}

  /// The way of the next call. After it, call count() with its seconds.
  [[nodiscard]] Copying next() const {
    return quiet_ == 0 && trial_.next() == Trial::Side::challenger ? challenger_ : winner_;
  }
  void count(double seconds);

  /// The way in force.
  [[nodiscard]] Copying winner() const { return winner_; }

 private:
  void end_trial(bool challenger_won);

  std::size_t ways_;
  Copying winner_ = Copying::cached;
  Copying challenger_ = Copying::into_store;
  Trial trial_{policies::streaming};
  std::size_t trials_ = 0;   // since the last rest: each way that is not in force challenges it once
  double calls_lost_ = 0;    // in these
  std::uint64_t quiet_ = 0;  // calls until the next trials
  Rest rest_{policies::rest_of_streaming};
};

}  // namespace stretto
