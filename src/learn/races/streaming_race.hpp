// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "learn/races/rest.hpp"

namespace stretto {

/// Finds out whether long messages go better through the caches or past them. Between two cores of one
/// last-level cache, a piece that a core has written is read best from that cache. Between others, a line
/// that one core has written and another one has, or wants, takes several times as long as one in memory.
/// Which of both a job has, no processor says for sure (and a virtual machine may move).
///
/// It is a matter of each rank alone: what it writes is the same. So ranks need not agree. Its turns depend
/// only on the number of calls, so that all ranks try the same way at the same time.
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
  [[nodiscard]] Way next() const { return quiet_ > 0 ? winner_ : static_cast<Way>(turn_ % ways_); }
  void count(double seconds);

  /// The way in force.
  [[nodiscard]] Way winner() const { return winner_; }

  /// Calls of each way. The best one counts, since ranks may come late.
  static constexpr std::size_t rounds = 3;
  static constexpr std::uint64_t first_rest = 64;
  static constexpr std::uint64_t longest_rest = 1024;

 private:
  static constexpr Rest::Limits rests{
      .share = 0.01, .first = first_rest, .longest = longest_rest, .most = 100'000};
  /// A way must be faster by this than the one in force.
  static constexpr double margin = 0.96;

  static constexpr double never = std::numeric_limits<double>::infinity();
  static constexpr std::array<double, ways> none{never, never, never};

  void decide();

  std::size_t ways_;
  Way winner_ = Way::cached;
  Way suspect_ = Way::cached;  // has won once; to be in force, it must win twice in a row
  std::uint64_t quiet_ = 0;    // calls until the next turns
  Rest rest_{rests};
  bool is_warm_ = false;  // the first call of each way sets things up
  std::size_t turn_ = 0;
  std::array<double, ways> best_ = none;  // seconds
};

}  // namespace stretto
