// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "learn/races/rest.hpp"

namespace stretto {

/// Finds out whether calls that take a microsecond are faster by a spec or by `native`. A single call of that
/// kind cannot be timed, nor can an agreement follow each few of them, so the two sides make calls in blocks
/// by turns, and the ranks agree once, on the median blocks. What wins is in force until the race is
/// repeated, more and more seldom; so seldom that what the loser costs stays below 0.5 % of the calls.
///
/// Its decisions depend only on the number of calls and on what the ranks have agreed on.
class ShortRace {
 public:
  enum class Side : std::uint8_t { native, spec };
  /// Seconds of the median block of each side.
  using Figures = std::array<double, 2>;

  static constexpr std::size_t calls_of_block = 16;
  /// Of each side. The first ones do not count: they set things up.
  static constexpr std::size_t blocks = 6;

  /// The side of the next call.
  [[nodiscard]] Side next() const {
    if (quiet_ > 0) return winner_;
    return turn_ % 2 == 0 ? Side::native : Side::spec;
  }
  /// Whether the next call is not part of the race. Then call pass() for it, else count() with its seconds.
  [[nodiscard]] bool is_quiet() const { return quiet_ > 0; }
  void pass() { --quiet_; }
  void count(double seconds);

  /// Whether the ranks must agree before the next call.
  [[nodiscard]] bool wants_agreement() const { return quiet_ == 0 && turn_ == 2 * blocks; }
  [[nodiscard]] Figures figures() const;
  void agree(const Figures& maxima);

  /// Whose calls are in force, as far as that was decided.
  [[nodiscard]] Side winner() const { return winner_; }

  static constexpr std::uint64_t first_rest = 4096;
  static constexpr std::uint64_t longest_rest = std::uint64_t{1} << 22;

 private:
  static constexpr Rest::Limits rests{
      .share = 0.005, .first = first_rest, .longest = longest_rest, .most = longest_rest};
  /// A spec must be faster by this to be worth it.
  static constexpr double margin = 0.98;

  std::uint64_t quiet_ = 0;
  Rest rest_{rests};
  Side winner_ = Side::native;
  std::size_t turn_ = 0;
  std::size_t call_ = 0;
  std::array<std::vector<double>, 2> seconds_;  // [side][block]
};

}  // namespace stretto
