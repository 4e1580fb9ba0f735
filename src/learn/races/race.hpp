// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "learn/races/rest.hpp"
#include "learn/races/trial.hpp"

namespace stretto {

/// A trial that is repeated, more and more seldom. The calls of a challenger that loses cost only a small
/// share of all calls. Between two trials the winner makes all calls, and nothing is measured.
///
/// Its decisions depend only on the number of calls and on what the ranks have agreed on.
class Race {
 public:
  using Side = Trial::Side;

  /// The first trial begins after `quiet` calls, which the defender makes.
  Race(std::span<const Stage> stages, const Rest::Limits& rests, std::uint64_t quiet = 0)
      : stages_(stages), trial_(stages), rest_(rests), quiet_(quiet) {}

  /// The side of the next call.
  [[nodiscard]] Side next() const { return quiet_ > 0 ? winner_ : trial_.next(); }
  /// The number of calls before the next trial. Call pass() for each of them, and count() for the others.
  [[nodiscard]] std::uint64_t quiet() const { return quiet_; }
  void pass() { --quiet_; }
  void count(double seconds, double bytes = 0) { trial_.count(seconds, bytes); }

  /// Whether the ranks must agree on the greatest figures before the next call.
  [[nodiscard]] bool wants_agreement() const { return quiet_ == 0 && trial_.wants_agreement(); }
  [[nodiscard]] std::vector<double> figures() const { return trial_.figures(); }
  void agree(std::span<const double> agreed);

  /// The side that has won the last trial.
  [[nodiscard]] Side winner() const { return winner_; }
  /// Leaves the next trial out, because there is no challenger.
  void leave_out();

 private:
  void end_trial(double calls_lost);

  std::span<const Stage> stages_;
  Trial trial_;
  Rest rest_;
  std::uint64_t quiet_;
  Side winner_ = Side::defender;
};

}  // namespace stretto
